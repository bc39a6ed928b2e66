import {
  type CallerTransaction,
  type DatabaseErrorFacts,
  type HostTransaction,
  type HostTransactionOptions,
  postgres,
  type TransactionHost,
} from '@ticketing/core'
import { type ConnectionSource, checkOut, describePgError } from '@ticketing/core/pg-driver'
import type { DataSource, EntityManager } from 'typeorm'
import { adoptTransaction } from './caller-transaction.js'
import { guardDataSource, type UnguardedDataSource } from './data-source-guard.js'
import { connectionsOf, driverErrorOf, type TypeOrmConnection } from './typeorm-driver.js'
import { TypeOrmSession } from './typeorm-session.js'

/** Runs a section's transaction through a DataSource of TypeORM, on PostgreSQL. */
export class TypeOrmHost implements TransactionHost<EntityManager> {
  readonly dialect = postgres
  readonly #dataSource: DataSource
  readonly #prepare: boolean
  readonly #unguarded: UnguardedDataSource
  readonly #connections: ConnectionSource<TypeOrmConnection>

  /** @throws {FenceError} `FENCE_INVALID_ARGUMENT` where it is no DataSource on PostgreSQL. */
  constructor(dataSource: DataSource, settings: { readonly prepare: boolean }) {
    this.#prepare = settings.prepare
    this.#unguarded = guardDataSource(dataSource)
    this.#dataSource = dataSource
    this.#connections = connectionsOf(this.#unguarded.obtainMasterConnection)
  }

  get pool(): object {
    return this.#unguarded.pool()
  }

  /** Whether the DataSource is connected, or may still be. */
  get usable(): boolean {
    return !this.#unguarded.destroyed()
  }

  async transaction<R>(
    options: HostTransactionOptions,
    body: (tx: HostTransaction<EntityManager>) => Promise<R>,
  ): Promise<R> {
    const connection = await checkOut(this.#connections, options)
    const runner = this.#unguarded.createQueryRunner()
    const session = new TypeOrmSession(this.#dataSource, runner, this.#connections, connection, options, this.#prepare)
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

  adopt(manager: EntityManager): Promise<CallerTransaction> {
    return adoptTransaction(this.#dataSource, manager)
  }

  describeError(error: unknown): DatabaseErrorFacts {
    return describePgError(driverErrorOf(error))
  }
}
