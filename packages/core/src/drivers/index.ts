export { adoptedState } from './adopted-state.js'
export {
  answeredWithin,
  answeredWithinLease,
  beginMillisecondsMax,
  commitMillisecondsMax,
  rollbackMillisecondsMax,
} from './answered-within.js'
export { type ConnectionSource, checkOut } from './check-out.js'
export type { NativePgClient, NativePgWire } from './pg-client.js'
export { describePgError } from './pg-error.js'
export { PgGuard } from './pg-guard.js'
export { PgWatch } from './pg-watch.js'
export { checkPrepare, type PreparedClaimOptions } from './prepared-claim-options.js'
export {
  isPreparedStatementLost,
  type NamedStatement,
  named,
  type PgStatement,
  queryPrepared,
} from './prepared-statement.js'
export { handleEnded, type SectionState, statementRefusal } from './statement-refusal.js'
