/** Starts an embedded PostgreSQL, tells where it is, and then waits to be killed. */
import { startEmbeddedPostgres } from '../../src/embedded-postgres.js'

const { url, directory, guardId } = await startEmbeddedPostgres()
process.stdout.write(`${JSON.stringify({ url, directory, guardId })}\n`)
if (process.argv.includes('--finish')) process.exit(0)
await new Promise<never>(() => setInterval(() => {}, 60_000))
