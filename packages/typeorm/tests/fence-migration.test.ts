import { createDatabase, ScriptedBroker } from '@ticketing/testing'
import { databaseTargets } from '@ticketing/testing/vitest'
import { describe, expect, it } from 'vitest'
import { FenceMigration, fenceSchemaSql, typeormFence } from '../src/index.js'
import { failureOf } from './support/assertions.js'
import { casesOf, times } from './support/fenced-database.js'
import { typeormVersions } from './support/typeorm-versions.js'

class InOurSchema extends FenceMigration {
  override readonly name = 'InOurSchema1764547200001'
  override readonly table = 'app.fence'
}

describe.each(casesOf(databaseTargets(), typeormVersions))('the migration class, $title', ({ target, version }) => {
  it('creates what a section needs, once, and drops it again', async () => {
    await using database = await createDatabase(target)
    const dataSource = new version.DataSource({
      type: 'postgres',
      url: database.url,
      migrations: [FenceMigration, InOurSchema],
      poolSize: 1,
    })
    await dataSource.initialize()
    try {
      const broker = new ScriptedBroker()
      const fence = typeormFence(dataSource, { broker, defaults: times })
      const ours = typeormFence(dataSource, { broker, defaults: times, table: 'app.fence', name: 'ours' })
      expect((await failureOf(fence.run('a', () => undefined))).code).toBe('FENCE_NOT_MIGRATED')

      await dataSource.query('CREATE SCHEMA app')
      expect((await dataSource.runMigrations()).map(({ name }) => name)).toEqual([
        'TicketingFence1764547200000',
        'InOurSchema1764547200001',
      ])
      expect(await dataSource.runMigrations()).toEqual([])
      expect(await fence.run('a', () => 'done')).toBe('done')
      expect(await ours.run('a', () => 'done')).toBe('done')

      await dataSource.undoLastMigration()
      expect((await failureOf(ours.run('a', () => undefined))).code).toBe('FENCE_NOT_MIGRATED')
      expect(await fence.run('a', () => 'done')).toBe('done')
      await dataSource.undoLastMigration()
      expect(await dataSource.query(`SELECT 1 FROM pg_class WHERE relname LIKE '%fence%'`)).toEqual([])

      await dataSource.query(fenceSchemaSql())
      expect(await fence.run('a', () => 'done')).toBe('done')
    } finally {
      await dataSource.destroy()
    }
  })
})
