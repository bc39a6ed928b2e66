export { fenceSchemaSql } from '@ticketing/core'
export type { PgCallerClient, PgField, PgPool, PgQueryConfig, PgResult, PgRow } from './pg-driver.js'
export { type PgFence, type PgFenceOptions, pgFence } from './pg-fence.js'
export type { PgTransaction } from './pg-transaction.js'
