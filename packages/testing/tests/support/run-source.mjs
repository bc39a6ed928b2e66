// @ts-check
/** Runs a TypeScript module in a process of its own, as Vitest would: `node run-source.mjs <file>`. */
import { runnerImport } from 'vite'

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('run-source.mjs needs the file to run.')
await runnerImport(file, {
  configFile: false,
  logLevel: 'error',
  resolve: { conditions: ['ticketing-source', 'node'] },
})
