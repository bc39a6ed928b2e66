import { createDatabase, type DatabaseTarget, ScriptedBroker, type TestDatabase } from '@ticketing/testing'
import type { DataSource, DataSourceOptions, EntityManager, EntitySchema } from 'typeorm'
import { type TypeOrmFence, typeormFence } from '../../src/index.js'
import type { TypeOrmVersion } from './typeorm-versions.js'

export interface Account {
  id: string
  balance: number
}

/** A database with one account, and a fence on a DataSource whose pool has one connection unless told otherwise. */
export interface FencedDatabase extends AsyncDisposable {
  readonly database: TestDatabase
  readonly dataSource: DataSource
  readonly account: EntitySchema<Account>
  readonly broker: ScriptedBroker
  readonly fence: TypeOrmFence<{ wait: 0; lease: 20; minWork: 1 }>
  /** Makes the account's balance 100 again. */
  reset(): Promise<void>
  balance(): Promise<number>
  /** Takes 10 from the account. */
  withdraw(manager: EntityManager): Promise<unknown>
}

export const times = { wait: 0, lease: 20, minWork: 1 } as const

export async function openFencedDatabase(
  target: DatabaseTarget,
  { DataSource, EntitySchema }: TypeOrmVersion,
  options: Partial<DataSourceOptions> & { readonly fenceName?: string } = {},
): Promise<FencedDatabase> {
  const { fenceName, ...more } = options
  const database = await createDatabase(target)
  const account = new EntitySchema<Account>({
    name: 'account',
    columns: { id: { type: 'text', primary: true }, balance: { type: 'integer' } },
  })
  const dataSource = new DataSource({
    type: 'postgres',
    url: database.url,
    entities: [account],
    // A section that took a second connection would wait for itself (F3, F9).
    poolSize: 1,
    logging: false,
    ...more,
  } as DataSourceOptions)
  await dataSource.initialize()
  await dataSource.synchronize()
  const broker = new ScriptedBroker()
  const fence = typeormFence(dataSource, { broker, defaults: times, name: fenceName })
  await fence.migrate()
  return {
    database,
    dataSource,
    account,
    broker,
    fence,
    reset: async () => void (await dataSource.getRepository(account).save({ id: 'a', balance: 100 })),
    balance: async () => (await dataSource.getRepository(account).findOneByOrFail({ id: 'a' })).balance,
    withdraw: (manager) => manager.decrement(account, { id: 'a' }, 'balance', 10),
    async [Symbol.asyncDispose]() {
      if (dataSource.isInitialized) await dataSource.destroy()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** The cases of a suite: each server with each release of TypeORM. */
export function casesOf(targets: readonly DatabaseTarget[], versions: readonly TypeOrmVersion[]) {
  return targets.flatMap((target) =>
    versions.map((version) => ({ title: `${version.version}, ${target.name}`, target, version })),
  )
}
