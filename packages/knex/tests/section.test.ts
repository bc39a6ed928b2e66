import { FenceError, StaleTokenError } from '@ticketing/core'
import { createDatabase, ScriptedBroker, type TestDatabase } from '@ticketing/testing'
import { databaseTargets } from '@ticketing/testing/vitest'
import Knex, { type Knex as KnexInstance } from 'knex'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type KnexFence, knexFence } from '../src/index.js'

interface Pids {
  readonly rows: readonly { pid: number }[]
}

describe.each(databaseTargets())('$name', (target) => {
  let database: TestDatabase
  let knex: KnexInstance
  let broker: ScriptedBroker
  let fence: KnexFence<{ wait: 0; lease: 20; minWork: 1 }>

  beforeAll(async () => {
    database = await createDatabase(target)
    // A pool of one: a section that took a second connection would wait for itself (F3, F9).
    knex = Knex({ client: 'pg', connection: database.url, pool: { min: 0, max: 1 }, log: { warn: () => undefined } })
    await knex.schema.createTable('account', (table) => {
      table.text('id').primary()
      table.integer('balance').notNullable()
    })
    broker = new ScriptedBroker()
    fence = knexFence(knex, { broker, defaults: { wait: 0, lease: 20, minWork: 1 } })
    await fence.migrate()
  })

  beforeEach(async () => {
    await knex('account').delete()
    await knex('account').insert({ id: 'a', balance: 100 })
  })

  afterAll(async () => {
    await knex.destroy()
    await database[Symbol.asyncDispose]()
  })

  const balance = async () => ((await knex('account').where({ id: 'a' }).first()) as { balance: number }).balance
  const withdraw = (trx: KnexInstance.Transaction) => trx('account').where({ id: 'a' }).decrement('balance', 10)
  const failureOf = (promise: Promise<unknown>) =>
    promise.then(
      () => expect.unreachable('the section reported success'),
      (error: unknown) => error as FenceError & { cause: unknown },
    )

  it('F1: the high-water moves with the business write, and the work’s result is the section’s', async () => {
    expect(await fence.run(['b', 'a'], async (trx, ticket) => [await withdraw(trx), ticket.keys])).toEqual([
      1,
      ['a', 'b'],
    ])
    expect(await balance()).toBe(90)
    expect(await knex('ticketing_fence').orderBy('lock_key').pluck('token')).toEqual([
      String(broker.lastToken - 1n),
      String(broker.lastToken),
    ])
  })

  it('F2: a stale ticket is refused with its token and the high-water, and nothing is written', async () => {
    await fence.run('a', withdraw)
    const highWater = broker.lastToken
    broker.grantNext(highWater)
    const error = await failureOf(fence.run('a', withdraw))
    expect(error).toBeInstanceOf(StaleTokenError)
    expect(error).toMatchObject({ key: 'a', token: highWater, highWater })
    expect(await balance()).toBe(90)
  })

  it.each([
    ['COMMIT', 'FENCE_TX_ENDED'],
    ['ROLLBACK', 'FENCE_TX_ENDED'],
    ['COMMIT; BEGIN', 'FENCE_TX_ENDED'],
    ['ROLLBACK; BEGIN', 'FENCE_TX_ENDED'],
    ['COMMIT AND CHAIN', 'FENCE_TX_ENDED'],
    ['ROLLBACK AND CHAIN', 'FENCE_TX_ENDED'],
    ['SELECT 1/0', 'FENCE_TX_ABORTED'],
  ])('F12, fault 1: %s inside, its error caught, ends as %s and the pool stays sound', async (statement, code) => {
    const error = await failureOf(
      fence.run('a', async (trx) => {
        await trx.raw(statement).catch(() => undefined)
        await withdraw(trx).catch(() => undefined)
      }),
    )
    expect(error.code).toBe(code)
    expect(await balance()).toBe(100)
    await fence.run('a', withdraw)
    expect(await balance()).toBe(90)
  })

  it('F9, F12: a savepoint of Knex may fail and be rolled back inside a section', async () => {
    await fence.run('a', async (trx) => {
      await withdraw(trx)
      await trx.transaction((inner) => inner.raw('SELECT 1/0')).catch(() => undefined)
    })
    expect(await balance()).toBe(90)
  })

  it('fault 2: trx.commit and trx.rollback are refused, so the work cannot end the section early', async () => {
    for (const name of ['commit', 'rollback'] as const) {
      const error = await failureOf(fence.run('a', async (trx) => await trx[name]()))
      expect(error.code).toBe('FENCE_INVALID_ARGUMENT')
    }
  })

  it('fault 2: a COMMIT that a deferred constraint refuses is no success', async () => {
    await knex.raw('CREATE TABLE child (parent text REFERENCES account DEFERRABLE INITIALLY DEFERRED)')
    const error = await failureOf(fence.run('a', (trx) => trx('child').insert({ parent: 'nobody' })))
    expect(error).toMatchObject({ code: 'FENCE_COMMIT_FAILED', outcome: 'not-executed', cause: { code: '23503' } })
    expect(await knex('child')).toEqual([])
  })

  it('F13, fault 11: a backend that was killed inside is never handed out again, and the process lives', async () => {
    let pid: unknown
    const error = await failureOf(
      fence.run('a', async (trx) => {
        pid = (await trx.raw<Pids>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid
        await trx.raw('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => undefined)
      }),
    )
    expect(error).toMatchObject({ code: '57P01' })
    const next = await knex.raw<Pids>('SELECT pg_backend_pid() AS pid')
    expect(next.rows[0]?.pid).not.toBe(pid)
  })

  it('F13: a connection whose BEGIN the server refused is never handed out again', async () => {
    const created: { query(...args: unknown[]): unknown }[] = []
    const refusing = Knex({
      client: 'pg',
      connection: database.url,
      log: { warn: () => undefined },
      pool: {
        min: 0,
        max: 1,
        afterCreate(connection: (typeof created)[number], done: () => void) {
          const { query } = connection
          if (created.push(connection) === 1) {
            connection.query = (config: unknown, ...rest: unknown[]) => {
              const refused = (config as { text?: string }).text?.startsWith('BEGIN')
                ? { text: 'BEGIN nothing' }
                : config
              return query.call(connection, refused, ...rest)
            }
          }
          done()
        },
      },
    })
    try {
      const other = knexFence(refusing, { broker, defaults: { wait: 0, lease: 20, minWork: 1 } })
      expect(await failureOf(other.run('a', withdraw))).toMatchObject({ code: '42601' })
      await other.run('a', withdraw)
      expect(created).toHaveLength(2)
      expect(await balance()).toBe(90)
    } finally {
      await refusing.destroy()
    }
  })

  it('F14, fault 3: work that goes on after the section is refused, never autocommitted', async () => {
    let late: KnexInstance.Transaction | undefined
    let running: Promise<unknown> = Promise.resolve()
    await fence.run('a', async (trx) => {
      late = trx
      await withdraw(trx)
      running = (async () => {
        for (;;) await withdraw(trx)
      })()
      running.catch(() => undefined)
    })
    const committed = await balance()
    await expect(running).rejects.toThrow()
    await expect(withdraw(late as KnexInstance.Transaction)).rejects.toThrow()
    expect(await balance()).toBe(committed)
  })

  it('F15: what the work throws reaches the caller as the same object, and nothing is written', async () => {
    const reason = new Error('not today')
    const error = await failureOf(
      fence.run('a', async (trx) => {
        await withdraw(trx)
        throw reason
      }),
    )
    expect(error).toBe(reason)
    expect(await balance()).toBe(100)
  })

  it('fault 16: the ticket is released after the transaction has ended', async () => {
    broker.log.length = 0
    await fence.run('a', async (trx) => {
      await withdraw(trx)
      broker.log.push('worked')
    })
    expect(broker.log).toEqual(['acquire a', 'worked', 'release a'])
  })

  it('refuses what is no Knex instance on pg, before anything is sent', () => {
    expect(() => knexFence({} as KnexInstance, { broker })).toThrow(FenceError)
    expect(() => knexFence(Knex({ client: 'sqlite3', useNullAsDefault: true }), { broker })).toThrow(/supports "pg"/)
  })
})
