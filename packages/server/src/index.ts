export type { ServerOptions } from './config.js'
export type { Logger } from './logger.js'
export { startServer, type TicketingServer } from './server.js'
export { ServerError, type ServerErrorCode } from './server-error.js'
