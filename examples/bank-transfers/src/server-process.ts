import { startServer } from '@ticketing/server'
import { serveParent } from './served-process.js'

export interface ServerReport {
  readonly type: 'listening'
  readonly address: string
}

/** The lock server, in a process of its own. */
serveParent<object, ServerReport>(async (_task, report, stop) => {
  await using server = await startServer({ listen: '127.0.0.1:0' })
  report({ type: 'listening', address: server.address })
  await new Promise((resolve) => stop.addEventListener('abort', resolve))
})
