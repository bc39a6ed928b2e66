import { anyFence, type ConformanceSubject, fenceConformance } from '@ticketing/testing/conformance'
import type { DataSource, EntityManager } from 'typeorm'
import { typeormFence } from '../src/index.js'
import { type TypeOrmVersion, typeormVersions } from './support/typeorm-versions.js'

type Rows = Record<string, unknown>[]

let names = 0

function subject(version: TypeOrmVersion): ConformanceSubject['open'] {
  return async ({ url, connectionsMax, broker, table }) => {
    const dataSource = new version.DataSource({ type: 'postgres', url, poolSize: connectionsMax })
    await dataSource.initialize()
    const make = () => anyFence(typeormFence(dataSource, { broker, table, name: `conformance ${++names}` }))
    // The number of affected rows stands beside the rows of an UPDATE.
    const query = async (on: DataSource | EntityManager, sql: string) => {
      const result = await on.query<Rows | [Rows, number]>(sql)
      return (Array.isArray(result[0]) ? result[0] : result) as Rows
    }
    return {
      fence: make(),
      twin: make,
      query: (manager, sql) => query(manager as EntityManager, sql),
      savepoint: (manager, work) => (manager as EntityManager).transaction((inner) => work(inner)),
      queryPool: (sql) => query(dataSource, sql),
      transaction: (work) => dataSource.transaction((manager) => work(manager)),
      nest: (manager, work) => (manager as EntityManager).transaction((inner) => work(inner)),
      queryCaller: (manager, sql) => query(manager as EntityManager, sql),
      async close() {
        if (dataSource.isInitialized) await dataSource.destroy()
      },
    }
  }
}

const [current, older] = typeormVersions
fenceConformance({ adapter: 'TypeORM', open: subject(current) })
// What the level changes is the database's and shows with the other release.
fenceConformance({ adapter: 'TypeORM 0.3', levels: ['repeatable read'], open: subject(older) })
