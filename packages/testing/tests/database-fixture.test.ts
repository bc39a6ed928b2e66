import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { createDatabase, type DatabaseTarget, withClient } from '../src/database-fixture.js'
import { databaseTargets } from '../src/vitest.js'

test('there is at least the embedded PostgreSQL or a given one, each with its own name', () => {
  const names = databaseTargets().map((target) => target.name)
  expect(names.length).toBeGreaterThan(0)
  expect(new Set(names).size).toBe(names.length)
})

describe.each(databaseTargets())('$name', (target) => {
  test('the target tells its own major version', async () => {
    const version = await withClient(target.url, (client) => client.query('SHOW server_version_num'))
    expect(Math.floor(Number(version.rows[0].server_version_num) / 10_000)).toBe(target.major)
  })

  test('a database is empty, its own, and gone afterwards', async () => {
    const first = await createDatabase(target)
    const second = await createDatabase(target)
    expect(first.name).not.toBe(second.name)
    await withClient(first.url, (client) => client.query('CREATE TABLE here (id int)'))
    const tables = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    await withClient(second.url, async (client) => expect((await client.query(tables)).rows).toEqual([]))

    await first[Symbol.asyncDispose]()
    expect(await exists(target, first.name)).toBe(false)
    expect(await exists(target, second.name)).toBe(true)
    await second[Symbol.asyncDispose]()
    expect(await exists(target, second.name)).toBe(false)
  })

  test('a database is dropped under an open session, and its connection string keeps the options', async () => {
    const database = await createDatabase({ url: `${target.url}?application_name=lingering` })
    const client = new pg.Client(database.url)
    const lost = new Promise<Error>((resolve) => client.on('error', resolve))
    await client.connect()
    expect((await client.query('SHOW application_name')).rows).toEqual([{ application_name: 'lingering' }])

    await database[Symbol.asyncDispose]()
    expect(await lost).toMatchObject({ code: '57P01' })
    expect(await exists(target, database.name)).toBe(false)
  })

  test('disposing of a database again does nothing', async () => {
    const database = await createDatabase(target)
    await database[Symbol.asyncDispose]()
    await expect(database[Symbol.asyncDispose]()).resolves.toBeUndefined()
  })
})

describe.each(databaseTargets().filter(({ name }) => name.includes('embedded')))('$name', (target) => {
  test('a transaction left prepared does not keep its database from being dropped', async () => {
    const database = await createDatabase(target)
    await withClient(database.url, async (client) => {
      await client.query('CREATE TABLE here (id int)')
      await client.query("BEGIN; INSERT INTO here VALUES (1); PREPARE TRANSACTION 'it''s left'")
    })
    await database[Symbol.asyncDispose]()
    expect(await exists(target, database.name)).toBe(false)
  })
})

async function exists(target: DatabaseTarget, name: string): Promise<boolean> {
  const found = await withClient(target.url, (client) =>
    client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]),
  )
  return found.rows.length > 0
}
