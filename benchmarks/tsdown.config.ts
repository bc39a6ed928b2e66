import { defineConfig } from 'tsdown'

export default defineConfig({
  entry: ['src/section.ts'],
  format: ['esm'],
  target: 'node20.19',
  platform: 'node',
  fixedExtension: true,
  clean: true,
  dts: false,
  logLevel: 'warn',
})
