import { library } from '../../tsdown.library.ts'

export default library({
  entry: ['src/index.ts', 'src/vitest.ts', 'src/vitest-global-setup.ts'],
  // Vitest is an ES module; nobody can require what imports it.
  format: { esm: {}, cjs: { entry: { index: 'src/index.ts' } } },
})
