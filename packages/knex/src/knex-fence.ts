import { createFence, type Fence, type FenceOptions, type SectionDefaults } from '@ticketing/core'
import { checkPrepare, type PreparedClaimOptions } from '@ticketing/core/pg-driver'
import type { Knex } from 'knex'
import { KnexHost } from './knex-host.js'

export type KnexFenceOptions<Defaults extends SectionDefaults = SectionDefaults> = FenceOptions<Defaults> &
  PreparedClaimOptions

/** A fence on a Knex instance: its work gets a `Knex.Transaction`. */
export type KnexFence<Defaults extends SectionDefaults = SectionDefaults> = Fence<Knex.Transaction, Defaults>

/**
 * Makes a fence on a Knex instance with the `pg` driver. Nothing is sent until the first section.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT`.
 */
export function knexFence<const Defaults extends SectionDefaults = {}>(
  knex: Knex,
  options: KnexFenceOptions<Defaults>,
): KnexFence<Defaults> {
  const host = new KnexHost(knex, { prepare: checkPrepare(options) })
  return createFence<Knex.Transaction, Defaults>(host, options, { optionNames: ['prepare'] })
}
