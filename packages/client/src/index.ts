export type { AcquireOptions, AcquireResult, Broker, Duration, ReleaseResult, Ticket } from './broker.js'
export { type Outcome, TicketError, type TicketErrorCode } from './ticket-errors.js'
