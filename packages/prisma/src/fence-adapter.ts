import { invalidArgument } from '@ticketing/core'
import {
  answeredWithin,
  beginMillisecondsMax,
  type ConnectionSource,
  checkOut,
  PgWatch,
} from '@ticketing/core/pg-driver'
import {
  type DriverAdapterFactory,
  type DriverTransaction,
  isPgAdapter,
  type PgAdapter,
  type PoolClient,
  startOn,
} from './driver-adapter.js'
import { GuardedTransaction } from './guarded-transaction.js'

/**
 * Shows the fence what Prisma hides: the status of each transaction, and the connection under it. Wrap the driver adapter
 * that you hand to Prisma Client: `new PrismaClient({ adapter: fenceAdapter(new PrismaPg({ … })) })`.
 *
 * With it a section's late statement is refused before it is sent (F14), what the replies say is checked before COMMIT
 * without a round trip (F12), and a connection whose BEGIN, COMMIT or ROLLBACK failed or timed out is destroyed, that of
 * any other interactive transaction too (F13).
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT` where it is no driver adapter for PostgreSQL; on connecting, where it is
 *   not `@prisma/adapter-pg`.
 */
export function fenceAdapter<Factory extends DriverAdapterFactory>(factory: Factory): Factory {
  if (typeof (factory as Partial<Factory> | undefined)?.connect !== 'function' || factory.provider !== 'postgres') {
    throw invalidArgument('adapter', 'must be the driver adapter PrismaPg of @prisma/adapter-pg')
  }
  return withMethod(factory, 'connect', async () => guardAdapter(await factory.connect()))
}

function guardAdapter(adapter: unknown): unknown {
  if (!isPgAdapter(adapter))
    throw invalidArgument('adapter', 'must be the driver adapter PrismaPg of @prisma/adapter-pg')
  return withMethod(adapter, 'startTransaction', (isolationLevel?: string) => start(adapter, isolationLevel))
}

async function start(adapter: PgAdapter, isolationLevel: string | undefined): Promise<DriverTransaction> {
  let connection: PoolClient
  try {
    connection = await checkOut(connectionsOf(adapter), {
      connecting: (taking) => taking,
      onConnectionDestroyed: ignore,
    })
  } catch (error) {
    // The adapter knows how Prisma is told that there is no connection.
    return await startOn(adapter, () => Promise.reject(error), isolationLevel)
  }
  const watch = new PgWatch(connection)
  let answered = false
  try {
    const beginning = startOn(adapter, async () => connection, isolationLevel).finally(() => {
      answered = true
    })
    const transaction = await answeredWithin(beginMillisecondsMax, 'BEGIN', beginning)
    const setLevel = isolationLevel === undefined ? [] : [`SET TRANSACTION ISOLATION LEVEL ${isolationLevel}`]
    return new GuardedTransaction(transaction, connection, watch, ['BEGIN', ...setLevel])
  } catch (error) {
    // Where BEGIN fails, the adapter has destroyed the connection; where its answer does not come, nobody has yet (F13).
    if (!answered) connection.release(true)
    watch.stop()
    throw error
  }
}

function connectionsOf(adapter: PgAdapter): ConnectionSource<PoolClient> {
  return {
    take: () => adapter.client.connect(),
    giveBack: (connection) => connection.release(),
    destroy: (connection, error) => connection.release(error),
    transactionStatus: (connection) => connection.getTransactionStatus?.(),
  }
}

function ignore(): void {}

/** The object with one method of ours. What it calls on itself, and its private fields, stay its own. */
function withMethod<T extends object>(target: T, name: string, method: unknown): T {
  return new Proxy(target, {
    get(object, property) {
      if (property === name) return method
      const value: unknown = Reflect.get(object, property, object)
      return typeof value === 'function' ? (value.bind(object) as unknown) : value
    },
  })
}
