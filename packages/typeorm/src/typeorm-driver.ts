import { invalidArgument } from '@ticketing/core'
import type { ConnectionSource, NativePgClient } from '@ticketing/core/pg-driver'
import type { DataSource, EntityManager, QueryRunner } from 'typeorm'

/** A native client of node-postgres, with what gives it back to TypeORM's pool. */
export interface TypeOrmConnection {
  readonly native: NativePgClient & { getTransactionStatus?(): string | null }
  readonly release: (error?: Error) => void
}

/** TypeORM's PostgreSQL driver, as far as the adapter calls it. */
export interface PostgresDriver {
  /** The pool of node-postgres; absent before `initialize` and after `destroy`. */
  readonly master?: object
  obtainMasterConnection(): Promise<readonly [TypeOrmConnection['native'], TypeOrmConnection['release']]>
  obtainSlaveConnection(): Promise<unknown>
}

/** What of a runner is not in its public type. */
interface RunnerInternals {
  /** 0 without a transaction, 1 in a top-level one, one more for each savepoint. */
  readonly transactionDepth?: number
}

/**
 * The PostgreSQL driver of a DataSource.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT` where it is no DataSource, or one of another database.
 */
export function postgresDriverOf(dataSource: DataSource): PostgresDriver {
  const given = dataSource as Partial<DataSource> | null | undefined
  if (typeof given?.createQueryRunner !== 'function' || typeof given.options !== 'object') {
    throw invalidArgument('dataSource', 'must be a TypeORM DataSource')
  }
  const driver = given.driver as unknown as Partial<PostgresDriver> | undefined
  if (given.options.type !== 'postgres' || typeof driver?.obtainMasterConnection !== 'function') {
    throw invalidArgument(
      'dataSource',
      `has the type "${given.options.type}"; this version supports "postgres", with the driver "pg"`,
    )
  }
  return driver as PostgresDriver
}

/** The connections of a driver's pool, as `obtain` hands them out. */
export function connectionsOf(obtain: PostgresDriver['obtainMasterConnection']): ConnectionSource<TypeOrmConnection> {
  return {
    async take() {
      const [native, release] = await obtain()
      if (native.connection !== undefined) return { native, release }
      release()
      throw invalidArgument('dataSource', 'uses pg-native, which shows no protocol messages; use the driver "pg" alone')
    },
    giveBack: (connection) => connection.release(),
    destroy({ native, release }, error) {
      // A broken connection may still speak while its pool closes it; nobody else listens to it any more.
      native.on('error', () => undefined)
      release(error)
    },
    transactionStatus: ({ native }) => native.getTransactionStatus?.(),
  }
}

/** How deep a runner is in transactions and savepoints; undefined where TypeORM does not tell. */
export function transactionDepthOf(runner: QueryRunner): number | undefined {
  return (runner as QueryRunner & RunnerInternals).transactionDepth
}

/** Lets the runner's next rollback be the one of its transaction, whatever savepoints are open. */
export function forgetSavepoints(runner: QueryRunner): void {
  if (transactionDepthOf(runner) !== undefined) Object.assign(runner, { transactionDepth: 1 })
}

/** The DataSource of a manager, in TypeORM 1 and 0.3. */
export function dataSourceOf(manager: EntityManager): DataSource {
  return (manager as { dataSource?: DataSource }).dataSource ?? manager.connection
}

/** What the driver, or the fence, threw under TypeORM's own `QueryFailedError`. */
export function driverErrorOf(error: unknown): unknown {
  return (error as { driverError?: unknown } | null | undefined)?.driverError ?? error
}
