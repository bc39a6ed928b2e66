// @ts-check
/** Runs a TypeScript module in a process of its own, as Vitest would: `node run-source.mjs <file>`. */
import { runnerImport } from 'vite'

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('run-source.mjs needs the file to run.')
const conditions = ['ticketing-source', 'node']
await runnerImport(file, {
  configFile: false,
  logLevel: 'error',
  resolve: { conditions },
  // Left to Node, the workspace's own packages would come from their last build.
  environments: { inline: { resolve: { conditions, noExternal: [/^@ticketing\//] } } },
})
