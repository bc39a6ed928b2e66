import { readFile } from 'node:fs/promises'
import { FenceError } from '@ticketing/core'
import { databaseTargets } from '@ticketing/testing/vitest'
import { describe, expect, it } from 'vitest'
import { pgFence } from '../src/index.js'
import { HolderProcess } from './support/holder-process.js'
import { dumpTables } from './support/schema-dump.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { noBroker, rejection, TestBed } from './support/test-bed.js'

const fenceTables = ['ticketing_fence', 'ticketing_fence_floor']
const golden = JSON.parse(await readFile(new URL('golden/fence-schema.json', import.meta.url), 'utf8')) as unknown

const tablesOf = async (bed: TestBed) => {
  const { rows } = await bed.admin.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relname LIKE 'ticketing%' AND relkind = 'r' ORDER BY 1",
  )
  return rows.map(({ name }) => name)
}

describe.each(databaseTargets())('migrate on $name', (target) => {
  it('F6, F7: makes the tables as the committed dump of the catalogs has them, and their one floor row', async () => {
    await using bed = await TestBed.create(target)
    expect(await dumpTables(bed.admin, 'public', fenceTables)).toEqual(golden)
    const { rows } = await bed.admin.query(
      `SELECT id, floor::text, schema_version, raised_at <= clock_timestamp() AS raised FROM ticketing_fence_floor`,
    )
    expect(rows).toEqual([{ id: 1, floor: '0', schema_version: 100, raised: true }])
  })

  it('twenty at once on an empty database, in four processes, all succeed and make one schema', async () => {
    await using bed = await TestBed.create(target, { migrated: false })
    const processes = await Promise.all([HolderProcess.start(), HolderProcess.start(), HolderProcess.start()])
    try {
      for (const each of processes) each.order({ scenario: 'migrate', url: bed.url, pools: 5 })
      const here = Array.from({ length: 5 }, () => pgFence(bed.pool({ max: 1 }), { broker: noBroker }).migrate())
      await Promise.all(here)
      for (const each of processes) expect((await each.told('end')).error).toBeUndefined()
    } finally {
      for (const each of processes) await each[Symbol.asyncDispose]()
    }
    expect(await tablesOf(bed)).toEqual(fenceTables)
    expect(await dumpTables(bed.admin, 'public', fenceTables)).toEqual(golden)
    expect((await bed.admin.query('SELECT 1 FROM ticketing_fence_floor')).rowCount).toBe(1)
  })

  it('again and again, and after half of it was lost, it keeps what is there and adds what is missing', async () => {
    await using bed = await TestBed.create(target)
    const broker = new ScriptedBroker()
    const fence = bed.fence(broker)
    await fence.run('kept', () => undefined)
    await bed.admin.query('UPDATE ticketing_fence_floor SET floor = 42')
    const row = await bed.fenceRow('kept')
    await fence.migrate()
    await bed.admin.query('DROP TABLE ticketing_fence_floor')
    expect(await rejection(fence.run('kept', () => undefined))).toMatchObject({ code: 'FENCE_NOT_MIGRATED' })
    await fence.migrate()
    expect(await dumpTables(bed.admin, 'public', fenceTables)).toEqual(golden)
    expect(await bed.fenceRow('kept')).toEqual(row)
    await bed.admin.query('DELETE FROM ticketing_fence_floor')
    const error = await rejection(fence.run('kept', () => undefined))
    expect(error).toMatchObject({ code: 'FENCE_NOT_MIGRATED', outcome: 'not-executed' })
    await fence.migrate()
    await fence.run('kept', () => undefined)
  })

  it('F1: a role that may only read and write the tables runs sections and may call migrate', async () => {
    await using bed = await TestBed.create(target)
    const role = await bed.role()
    const pool = bed.pool({ connectionString: role.url })
    await expect(pool.query('CREATE TABLE not_allowed ()')).rejects.toMatchObject({ code: '42501' })
    const fence = bed.fence(new ScriptedBroker(), {}, pool)
    await fence.migrate()
    await fence.run(['role-1', 'role-2'], (tx) => tx.query("INSERT INTO account VALUES ('role', 1)"))
    await fence.run('role-1', (tx) => tx.query("UPDATE account SET balance = 2 WHERE id = 'role'"))
    expect(await bed.balance('role')).toBe('2')
  })

  it('tables of a newer, breaking version are refused by migrate and by run, and nothing is written', async () => {
    await using bed = await TestBed.create(target)
    const broker = new ScriptedBroker()
    const fence = bed.fence(broker)
    const setVersion = (version: number) =>
      bed.admin.query('UPDATE ticketing_fence_floor SET schema_version = $1', [version])
    for (const version of [200, 300]) {
      await setVersion(version)
      const refusals = await Promise.all(
        [fence.migrate(), fence.run('newer', () => undefined), fence.run(['n1', 'n2'], () => undefined)].map(rejection),
      )
      for (const error of refusals) {
        expect(error).toBeInstanceOf(FenceError)
        expect(error).toMatchObject({ code: 'FENCE_SCHEMA_TOO_NEW', outcome: 'not-executed' })
        expect((error as Error).message).toContain(`schema version ${version}`)
      }
      expect((await bed.admin.query('SELECT 1 FROM ticketing_fence')).rowCount).toBe(0)
    }
    // A later version of the same hundred is one that this package can live with.
    await setVersion(199)
    await fence.migrate()
    await fence.run('newer', () => undefined)
    expect((await bed.admin.query('SELECT schema_version AS v FROM ticketing_fence_floor')).rows).toEqual([{ v: 199 }])
  })

  it('FENCE_NOT_MIGRATED means the fence’s own tables; a missing table of the work stays the work’s error', async () => {
    await using bed = await TestBed.create(target, { migrated: false })
    const broker = new ScriptedBroker()
    const fence = bed.fence(broker)
    let worked = false
    for (const keys of ['missing', ['missing-1', 'missing-2']]) {
      const error = await rejection(
        fence.run(keys, () => {
          worked = true
        }),
      )
      expect(error).toMatchObject({ code: 'FENCE_NOT_MIGRATED', outcome: 'not-executed', cause: { code: '42P01' } })
      expect((error as Error).message).toContain('Call migrate()')
    }
    expect(worked).toBe(false)
    await fence.migrate()
    const error = await rejection(fence.run('missing', (tx) => tx.query('SELECT * FROM no_such_table')))
    expect(error).toMatchObject({ code: '42P01' })
    expect(error).not.toBeInstanceOf(FenceError)
    expect(await bed.fenceRow('missing')).toBeUndefined()
  })

  it.each([
    ['app.fence', 'app', 'fence'],
    ['Mixed Case', 'public', 'Mixed Case'],
    ['we"ird.ta"ble; DROP TABLE account', 'we"ird', 'ta"ble; DROP TABLE account'],
    ['Üß.名前', 'Üß', '名前'],
    ['x'.repeat(57), 'public', 'x'.repeat(57)],
  ])('a table named %s is made and used under exactly that name', async (table, schema, name) => {
    await using bed = await TestBed.create(target, { migrated: false })
    const quoted = (part: string) => `"${part.replaceAll('"', '""')}"`
    await bed.admin.query(`CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}`)
    const broker = new ScriptedBroker()
    const fence = bed.fence(broker, { table })
    await fence.migrate()
    await fence.migrate()
    await fence.run(['named-1', 'named-2'], () => undefined)
    const full = `${quoted(schema)}.${quoted(name)}`
    expect(await bed.fenceRow('named-1', full)).toMatchObject({ token: '1001' })
    broker.grantNext(1_001n)
    expect(await rejection(fence.run('named-1', () => undefined))).toMatchObject({ highWater: 1_001n })
    const dump = await dumpTables(bed.admin, schema, [name, `${name}_floor`])
    expect(dump[name]?.columns).toEqual((golden as Record<string, { columns: string[] }>)['ticketing_fence']?.columns)
  })

  it('two tables in one database are two fences: the tokens of one say nothing to the other', async () => {
    await using bed = await TestBed.create(target)
    const broker = new ScriptedBroker()
    const other = bed.fence(broker, { table: 'other' })
    await other.migrate()
    await bed.fence(broker).run('shared', () => undefined)
    broker.grantNext(5n)
    await other.run('shared', () => undefined)
    expect(await bed.fenceRow('shared', 'other')).toMatchObject({ token: '5' })
  })
})

it.each(['', '.', 'a.', '.b', 'a.b.c', 'nul\0', 'x'.repeat(58), `schema.${'x'.repeat(58)}`, `${'é'.repeat(32)}.t`])(
  'a table cannot be named %j',
  (table) => {
    expect(() => pgFence({ connect: () => Promise.reject(new Error('none')) }, { broker: noBroker, table })).toThrow(
      expect.objectContaining({ code: 'FENCE_INVALID_ARGUMENT', message: expect.stringMatching(/^table: .*57/) }),
    )
  },
)
