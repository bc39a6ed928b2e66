import { type CallerTransaction, invalidArgument } from '@ticketing/core'
import { adoptedState } from '@ticketing/core/pg-driver'
import type { PgCallerClient } from './pg-driver.js'

/**
 * A transaction that the caller began on a client of its own.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT` where it is no client, or one without an open transaction.
 */
export function adoptClient(client: PgCallerClient): CallerTransaction {
  // A pool has `query` too, and would run each statement on whichever connection is free.
  const { query, connection } = (client ?? {}) as { query?: unknown; connection?: unknown }
  if (typeof query !== 'function' || typeof connection !== 'object') {
    throw invalidArgument('transaction', 'must be a client of node-postgres on which BEGIN was sent, not its pool')
  }
  return {
    state: adoptedState(client.getTransactionStatus?.()),
    query: async ({ text, values }) => (await client.query({ text, values: [...values] })).rows,
  }
}
