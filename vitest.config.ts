import { configDefaults, defineConfig } from 'vitest/config'
import { mutantPlugin } from './scripts/mutants/plugin.mjs'

// Packages resolve to each other's sources, so no test runs against a stale build. Vitest hands the list to Node too:
// with 'import' in it, a require() inside a dependency would get the ES module where it needs the CommonJS one.
const conditions = ['ticketing-source', 'node']

const conformanceReporter = './packages/testing/src/conformance-reporter.ts'

// These need no database. A run of their tests alone must not wait for one to start.
const withoutDatabase = ['packages/{protocol,client,core,server}/tests/**/*.test.ts', 'scripts/**/*.test.ts']

export default defineConfig({
  plugins: mutantPlugin(),
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    // The second one prints which adapter holds which rule of the fence.
    reporters: ['default', conformanceReporter],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: { name: 'plain', include: withoutDatabase },
      },
      {
        extends: true,
        test: {
          name: 'database',
          include: ['{packages,examples}/*/tests/**/*.test.ts', '{benchmarks,docs}/tests/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...withoutDatabase],
          globalSetup: ['packages/testing/src/vitest-global-setup.ts'],
        },
      },
    ],
  },
})
