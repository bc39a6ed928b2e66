import { library } from '../../tsdown.library.ts'

export default library({
  entry: {
    index: 'src/index.ts',
    vitest: 'src/vitest.ts',
    'vitest-global-setup': 'src/vitest-global-setup.ts',
    conformance: 'src/conformance/index.ts',
    'conformance-reporter': 'src/conformance-reporter.ts',
  },
  // Vitest is an ES module; nobody can require what imports it.
  format: { esm: {}, cjs: { entry: { index: 'src/index.ts' } } },
})
