import { anyFence, fenceConformance } from '@ticketing/testing/conformance'
import { DataSource, type EntityManager } from 'typeorm'
import { typeormFence } from '../src/index.js'

type Rows = Record<string, unknown>[]

let names = 0

fenceConformance({
  adapter: 'TypeORM',
  async open({ url, connectionsMax, broker, table }) {
    const dataSource = new DataSource({ type: 'postgres', url, poolSize: connectionsMax })
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
      queryCaller: (manager, sql) => query(manager as EntityManager, sql),
      async close() {
        if (dataSource.isInitialized) await dataSource.destroy()
      },
    }
  },
})
