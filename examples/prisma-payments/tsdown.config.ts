import { defineConfig } from 'tsdown'

/** A program, not a library. The generated client goes into it, since Node does not load TypeScript. */
export default defineConfig({
  entry: ['src/main.ts'],
  format: ['esm'],
  target: 'node20.19',
  platform: 'node',
  dts: false,
  fixedExtension: true,
  sourcemap: true,
  clean: true,
  logLevel: 'warn',
})
