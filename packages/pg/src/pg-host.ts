import {
  type CallerTransaction,
  type DatabaseErrorFacts,
  type HostTransaction,
  type HostTransactionOptions,
  postgres,
  type TransactionHost,
} from '@ticketing/core'
import { checkOut, describePgError } from '@ticketing/core/pg-driver'
import { adoptClient } from './pg-caller.js'
import { connectionsOf } from './pg-checkout.js'
import type { PgCallerClient, PgPool } from './pg-driver.js'
import { PgSession, type PgSessionSettings } from './pg-session.js'
import type { PgTransaction } from './pg-transaction.js'

/** Runs a section's transaction on a pool of node-postgres. */
export class PgHost implements TransactionHost<PgTransaction, PgCallerClient> {
  readonly dialect = postgres
  readonly pool: PgPool
  readonly #settings: PgSessionSettings

  constructor(pool: PgPool, settings: PgSessionSettings) {
    this.pool = pool
    this.#settings = settings
  }

  async transaction<R>(
    options: HostTransactionOptions,
    body: (tx: HostTransaction<PgTransaction>) => Promise<R>,
  ): Promise<R> {
    const client = await checkOut(connectionsOf(this.pool), options)
    const session = new PgSession(client, options, this.#settings)
    let result: R
    try {
      result = await body(session)
    } catch (error) {
      await session.rollback()
      throw error
    }
    await session.commit()
    return result
  }

  async adopt(client: PgCallerClient): Promise<CallerTransaction> {
    return adoptClient(client)
  }

  describeError(error: unknown): DatabaseErrorFacts {
    return describePgError(error)
  }
}
