import { createFence, type Fence, type FenceOptions, type SectionDefaults } from '@ticketing/core'
import { checkPrepare, type PreparedClaimOptions } from '@ticketing/core/pg-driver'
import { checkPool } from './pg-checkout.js'
import type { PgCallerClient, PgPool } from './pg-driver.js'
import { PgHost } from './pg-host.js'
import type { PgTransaction } from './pg-transaction.js'

export type PgFenceOptions<Defaults extends SectionDefaults = SectionDefaults> = FenceOptions<Defaults> &
  PreparedClaimOptions

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
  const host = new PgHost(pool, { prepare: checkPrepare(options) })
  return createFence<PgTransaction, Defaults, PgCallerClient>(host, options, { optionNames: ['prepare'] })
}
