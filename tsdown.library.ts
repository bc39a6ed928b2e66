import { defineConfig, type UserConfig } from 'tsdown'

/** How every published package is built: ESM and CommonJS with types for both, one file per entry. */
export function library(overrides: UserConfig = {}): UserConfig {
  return defineConfig({
    entry: ['src/index.ts'],
    format: ['esm', 'cjs'],
    target: 'node20.19',
    platform: 'node',
    dts: true,
    fixedExtension: true,
    sourcemap: true,
    clean: true,
    logLevel: 'warn',
    ...overrides,
  })
}
