import type { NativePgClient } from '@ticketing/core/pg-driver'

/** What `fenceAdapter` calls of a driver adapter on node-postgres, described structurally. */

export interface SqlQuery {
  readonly sql: string
  readonly args: readonly unknown[]
}

/** The driver's side of one interactive transaction. */
export interface DriverTransaction {
  executeRaw(query: SqlQuery): Promise<number>
  queryRaw(query: SqlQuery): Promise<unknown>
  commit(): Promise<void>
  rollback(): Promise<void>
}

/** A client of the adapter's pool. */
export interface PoolClient extends NativePgClient {
  release(error?: Error | boolean): void
  getTransactionStatus?(): string | null
}

export interface DriverAdapter {
  startTransaction(isolationLevel?: string): Promise<DriverTransaction>
}

/** A driver adapter as Prisma takes it in its `adapter` option. */
export interface DriverAdapterFactory {
  readonly provider: string
  readonly adapterName: string
  connect(): Promise<unknown>
}

/** `PrismaPg` keeps its pool here. */
export interface PgAdapter extends DriverAdapter {
  readonly client: { connect(): Promise<PoolClient> }
}

export function isPgAdapter(adapter: unknown): adapter is PgAdapter {
  const { startTransaction, client } = (adapter ?? {}) as Partial<PgAdapter>
  return typeof startTransaction === 'function' && typeof client?.connect === 'function'
}

/** The adapter's own `startTransaction`, on the connection that `connect` gives it, or with the error. */
export function startOn(
  adapter: PgAdapter,
  connect: () => Promise<PoolClient>,
  isolationLevel: string | undefined,
): Promise<DriverTransaction> {
  const onConnection = Object.create(adapter, { client: { value: { connect } } }) as PgAdapter
  return onConnection.startTransaction(isolationLevel)
}
