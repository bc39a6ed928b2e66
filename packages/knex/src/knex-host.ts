import {
  type CallerTransaction,
  type DatabaseErrorFacts,
  type HostTransaction,
  type HostTransactionOptions,
  postgres,
  type TransactionHost,
} from '@ticketing/core'
import { checkOut, describePgError } from '@ticketing/core/pg-driver'
import type { Knex } from 'knex'
import { adoptTransaction } from './knex-caller.js'
import { connectionsOf } from './knex-driver.js'
import { KnexSession, type KnexSessionSettings } from './knex-session.js'

/** Runs a section's transaction through Knex, on PostgreSQL. */
export class KnexHost implements TransactionHost<Knex.Transaction> {
  readonly dialect = postgres
  readonly #knex: Knex
  readonly #settings: KnexSessionSettings
  readonly #connections: ReturnType<typeof connectionsOf>

  constructor(knex: Knex, settings: KnexSessionSettings) {
    this.#knex = knex
    this.#settings = settings
    this.#connections = connectionsOf(knex)
  }

  get pool(): object {
    return this.#connections.pool
  }

  async transaction<R>(
    options: HostTransactionOptions,
    body: (tx: HostTransaction<Knex.Transaction>) => Promise<R>,
  ): Promise<R> {
    const connection = await checkOut(this.#connections, options)
    const session = new KnexSession(this.#knex, this.#connections, connection, options, this.#settings)
    let result: R
    try {
      result = await body(session)
    } catch (error) {
      await session.rollback(error)
      throw error
    }
    await session.commit()
    return result
  }

  adopt(transaction: Knex.Transaction): Promise<CallerTransaction> {
    return adoptTransaction(transaction)
  }

  describeError(error: unknown): DatabaseErrorFacts {
    return describePgError(error)
  }
}
