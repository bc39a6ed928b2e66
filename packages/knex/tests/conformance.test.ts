import { anyFence, fenceConformance } from '@ticketing/testing/conformance'
import Knex, { type Knex as KnexInstance } from 'knex'
import { knexFence } from '../src/index.js'

interface Result {
  readonly rows: Record<string, unknown>[]
}

fenceConformance({
  adapter: 'Knex',
  async open({ url, connectionsMax, broker, table }) {
    const knex = Knex({
      client: 'pg',
      connection: url,
      pool: { min: 0, max: connectionsMax },
      log: { warn: () => undefined },
    })
    const make = () => anyFence(knexFence(knex, { broker, table }))
    const rowsOf = async (on: KnexInstance, sql: string) => (await on.raw<Result>(sql)).rows
    return {
      fence: make(),
      twin: make,
      query: (handle, sql) => rowsOf(handle as KnexInstance.Transaction, sql),
      savepoint: (handle, work) => (handle as KnexInstance.Transaction).transaction((inner) => work(inner)),
      queryPool: (sql) => rowsOf(knex, sql),
      transaction: (work) => knex.transaction((trx) => work(trx)),
      nest: (trx, work) => (trx as KnexInstance.Transaction).transaction((inner) => work(inner)),
      queryCaller: (trx, sql) => rowsOf(trx as KnexInstance.Transaction, sql),
      close: () => knex.destroy(),
    }
  },
})
