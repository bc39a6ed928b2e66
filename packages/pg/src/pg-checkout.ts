import { invalidArgument } from '@ticketing/core'
import type { ConnectionSource } from '@ticketing/core/pg-driver'
import type { PgClient, PgPool } from './pg-driver.js'

/** How a pool of node-postgres gives and takes its clients. */
export function connectionsOf(pool: PgPool): ConnectionSource<PgClient> {
  return {
    take: async () => (await pool.connect()) as PgClient,
    giveBack: (client) => client.release(),
    destroy: (client, error) => client.release(error),
    transactionStatus: (client) => client.getTransactionStatus?.(),
  }
}

/** @throws {FenceError} `FENCE_INVALID_ARGUMENT` where `pool` is no pool of node-postgres. */
export function checkPool(pool: unknown): asserts pool is PgPool {
  const { connect, processID } = (pool ?? {}) as { connect?: unknown; processID?: unknown }
  if (typeof connect !== 'function') throw invalidArgument('pool', 'must be a Pool of node-postgres')
  if (processID !== undefined) {
    throw invalidArgument(
      'pool',
      'is a Client of node-postgres; pass a Pool, since each section takes a connection of its own',
    )
  }
}
