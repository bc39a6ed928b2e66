import { knexFence } from '@ticketing/knex'
import Knex from 'knex'
import { defaults, fenceTable, keyOf, type Library, type LibrarySettings, update } from './library.js'

export async function openKnex({ url, connectionsMax, broker }: LibrarySettings): Promise<Library> {
  const knex = Knex({ client: 'pg', connection: url, pool: { min: 0, max: connectionsMax } })
  const fence = knexFence(knex, { broker, table: fenceTable, defaults })
  await fence.migrate()
  return {
    name: 'Knex',
    transaction: (worker, before) =>
      knex.transaction(async (trx) => {
        if (before !== undefined) await trx.raw(before('?'), [worker])
        await trx.raw(update('?'), [worker])
      }),
    fenced: (worker) => fence.run(keyOf(worker), (trx) => trx.raw(update('?'), [worker])),
    [Symbol.asyncDispose]: () => knex.destroy(),
  }
}
