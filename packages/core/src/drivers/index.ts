export type { NativePgClient, NativePgWire } from './pg-client.js'
export { type GuardVerdict, PgGuard } from './pg-guard.js'
export { PgWatch } from './pg-watch.js'
