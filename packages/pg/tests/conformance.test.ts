import { anyFence, fenceConformance } from '@ticketing/testing/conformance'
import pg from 'pg'
import { type PgCallerClient, type PgRow, type PgTransaction, pgFence } from '../src/index.js'

fenceConformance({
  adapter: 'pg',
  async open({ url, connectionsMax, broker, table }) {
    const pool = new pg.Pool({ connectionString: url, max: connectionsMax })
    pool.on('error', () => undefined)
    const make = () => anyFence(pgFence(pool, { broker, table }))
    return {
      fence: make(),
      twin: make,
      query: async (handle, sql) => (await (handle as PgTransaction).query(sql)).rows,
      queryPool: async (sql) => (await pool.query<PgRow>(sql)).rows,
      async transaction(work) {
        const client = await pool.connect()
        try {
          await client.query('BEGIN')
          const result = await work(client)
          await client.query('COMMIT')
          return result
        } finally {
          client.release()
        }
      },
      queryCaller: (client, sql) => (client as PgCallerClient).query({ text: sql, values: [] }),
      async close() {
        if (!pool.ended) await pool.end()
      },
    }
  },
})
