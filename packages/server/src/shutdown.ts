import type { Logger } from './logger.js'
import type { TicketingServer } from './server.js'

/** What of a process is needed to end it in order. */
export interface StoppableProcess {
  once(signal: 'SIGTERM' | 'SIGINT', action: (signal: string) => void): unknown
  exit(code: number): void
}

/**
 * Closes the server at the first SIGTERM or SIGINT and then exits with 0; closing is bounded, so the process is gone
 * within 5 s. The same signal once more ends the process at once, as if nothing had been registered.
 */
export function closeOnSignal(server: TicketingServer, logger: Logger, process: StoppableProcess): void {
  const stop = (signal: string) => {
    logger.info({ signal }, 'shutting down')
    void server.close().then(() => process.exit(0))
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
}
