import { createFence, type Fence, type FenceOptions, invalidArgument, type SectionDefaults } from '@ticketing/core'
import { checkPool } from './pg-checkout.js'
import type { PgCallerClient, PgPool } from './pg-driver.js'
import { PgHost } from './pg-host.js'
import type { PgTransaction } from './pg-transaction.js'

export interface PgFenceOptions<Defaults extends SectionDefaults = SectionDefaults> extends FenceOptions<Defaults> {
  /**
   * Keep the claim as a prepared statement of each connection; default true. Turn it off behind a pooler that does not
   * support prepared statements in transaction mode (PgBouncer before 1.21).
   */
  readonly prepare?: boolean | undefined
}

/** A fence on a pool of node-postgres. */
export type PgFence<Defaults extends SectionDefaults = SectionDefaults> = Fence<PgTransaction, Defaults, PgCallerClient>

/**
 * Makes a fence on a pool of node-postgres (8.21 or later). Nothing is sent until the first section.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT`.
 */
export function pgFence<const Defaults extends SectionDefaults = {}>(
  pool: PgPool,
  options: PgFenceOptions<Defaults>,
): PgFence<Defaults> {
  checkPool(pool)
  const { prepare = true } = options ?? {}
  if (typeof prepare !== 'boolean') throw invalidArgument('prepare', 'must be true or false')
  const host = new PgHost(pool, { prepare })
  return createFence<PgTransaction, Defaults, PgCallerClient>(host, options, { optionNames: ['prepare'] })
}
