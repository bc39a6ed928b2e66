import { defineConfig } from 'tsdown'

/** Programs, not a library: the demo itself and the processes it starts. */
export default defineConfig({
  entry: [
    'src/main.ts',
    'src/server-process.ts',
    'src/worker-process.ts',
    'src/stall-process.ts',
    'src/holder-process.ts',
  ],
  format: ['esm'],
  target: 'node20.19',
  platform: 'node',
  dts: false,
  fixedExtension: true,
  sourcemap: true,
  clean: true,
  logLevel: 'warn',
})
