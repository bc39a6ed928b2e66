import { pgFence } from '@ticketing/pg'
import pg from 'pg'
import { defaults, fenceTable, keyOf, type Library, type LibrarySettings, update } from './library.js'

export async function openPg({ url, connectionsMax, broker }: LibrarySettings): Promise<Library> {
  const pool = new pg.Pool({ connectionString: url, max: connectionsMax })
  const fence = pgFence(pool, { broker, table: fenceTable, defaults })
  await fence.migrate()
  return {
    name: 'pg',
    async transaction(worker, before) {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        if (before !== undefined) await client.query(before('$1'), [worker])
        await client.query(update('$1'), [worker])
        await client.query('COMMIT')
      } finally {
        client.release()
      }
    },
    fenced: (worker) => fence.run(keyOf(worker), (tx) => tx.query(update('$1'), [worker])),
    [Symbol.asyncDispose]: () => pool.end(),
  }
}
