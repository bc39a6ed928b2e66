import { typeormFence } from '@ticketing/typeorm'
import { DataSource } from 'typeorm'
import { defaults, fenceTable, keyOf, type Library, type LibrarySettings, update } from './library.js'

export async function openTypeorm({ url, connectionsMax, broker }: LibrarySettings): Promise<Library> {
  const dataSource = new DataSource({ type: 'postgres', url, extra: { max: connectionsMax } })
  await dataSource.initialize()
  const fence = typeormFence(dataSource, { broker, table: fenceTable, defaults })
  await fence.migrate()
  return {
    name: 'TypeORM',
    transaction: (worker, before) =>
      dataSource.transaction(async (manager) => {
        if (before !== undefined) await manager.query(before('$1'), [worker])
        await manager.query(update('$1'), [worker])
      }),
    fenced: (worker) => fence.run(keyOf(worker), (manager) => manager.query(update('$1'), [worker])),
    [Symbol.asyncDispose]: () => dataSource.destroy(),
  }
}
