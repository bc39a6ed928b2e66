import { createDatabase, ScriptedBroker, type TestDatabase } from '@ticketing/testing'
import { databaseTargets } from '@ticketing/testing/vitest'
import Knex, { type Knex as KnexInstance } from 'knex'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fenceMigration, type KnexFence, knexFence } from '../src/index.js'

const times = { wait: 0, lease: 20, minWork: 0 } as const

describe.each(databaseTargets())('$name', (target) => {
  let database: TestDatabase
  let knex: KnexInstance
  let broker: ScriptedBroker
  let fence: KnexFence<typeof times>

  beforeAll(async () => {
    database = await createDatabase(target)
    knex = Knex({ client: 'pg', connection: database.url, pool: { min: 0, max: 2 }, log: { warn: () => undefined } })
    broker = new ScriptedBroker()
    fence = knexFence(knex, { broker, defaults: times })
    await knex.schema.createTable('account', (table) => {
      table.text('id').primary()
      table.integer('balance').notNullable()
    })
  })
  beforeEach(async () => {
    await knex('account').delete()
    await knex('account').insert({ id: 'a', balance: 100 })
  })
  afterAll(async () => {
    await knex.destroy()
    await database[Symbol.asyncDispose]()
  })

  const withdraw = (trx: KnexInstance.Transaction) => trx('account').where({ id: 'a' }).decrement('balance', 10)
  const balance = async () => ((await knex('account').where({ id: 'a' }).first()) as { balance: number }).balance
  const failureOf = (promise: Promise<unknown>) =>
    promise.then(
      () => expect.unreachable('it should have been refused'),
      (error: unknown) => error as Error,
    )

  it('F7: the migration of Knex makes tables that migrate() finds current, and takes them away again', async () => {
    const migrations = {
      getMigrations: async () => ['20261201_ticketing_fence'],
      getMigrationName: (name: string) => name,
      getMigration: async () => fenceMigration(),
    }
    await knex.migrate.latest({ migrationSource: migrations })
    await fence.migrate()
    await fence.run('a', withdraw)
    expect(await balance()).toBe(90)
    await knex.migrate.rollback({ migrationSource: migrations })
    expect(await knex.schema.hasTable('ticketing_fence')).toBe(false)
    expect(await knex.schema.hasTable('ticketing_fence_floor')).toBe(false)
    await knex.migrate.latest({ migrationSource: migrations })
  })

  it('F1: runWith runs a section with the caller’s ticket and leaves the ticket to the caller', async () => {
    const ticket = await broker.acquire('own', times)
    broker.log.length = 0
    await fence.runWith(ticket, withdraw)
    expect(await balance()).toBe(90)
    expect(broker.log).toEqual([])
    expect(await failureOf(fence.runWith(ticket, withdraw))).toMatchObject({ code: 'FENCE_STALE_TOKEN' })
  })

  it('F1: a claim commits with the caller’s own transaction', async () => {
    const ticket = await broker.acquire('claimed', times)
    await knex.transaction(async (trx) => {
      await fence.claim(trx, ticket)
      await withdraw(trx)
    })
    expect(await balance()).toBe(90)
    const rows: { token: string }[] = await knex('ticketing_fence').where({ lock_key: Buffer.from('claimed') })
    expect(rows).toMatchObject([{ token: String(ticket.token) }])
  })

  it('F2: a refused claim leaves a transaction that cannot commit', async () => {
    const old = await broker.acquire('refused', times)
    await fence.run('refused', () => undefined)
    let refusal: unknown
    await knex
      .transaction(async (trx) => {
        refusal = await failureOf(fence.claim(trx, old))
        await withdraw(trx).catch(() => undefined)
      })
      .catch(() => undefined)
    expect(refusal).toMatchObject({ code: 'FENCE_STALE_TOKEN' })
    expect(await balance()).toBe(100)
  })

  it('F1: what is no open top-level transaction is refused', async () => {
    const ticket = await broker.acquire('nothing', times)
    const over = await knex.transaction(async (trx) => trx)
    const nested = await knex.transaction((trx) => trx.transaction((inner) => failureOf(fence.claim(inner, ticket))))
    for (const error of [
      await failureOf(fence.claim(knex as KnexInstance.Transaction, ticket)),
      await failureOf(fence.claim(over, ticket)),
      nested,
    ]) {
      expect(error).toMatchObject({ code: 'FENCE_INVALID_ARGUMENT' })
      expect(error.message).toMatch(/^transaction: /)
    }
    expect(await knex('ticketing_fence').where({ lock_key: Buffer.from('nothing') })).toEqual([])
  })
})
