import { ScriptedBroker } from '@ticketing/testing'
import { databaseTargets } from '@ticketing/testing/vitest'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { fenceSchemaSql, type PgFence } from '../src/index.js'
import { rejection, TestBed } from './support/test-bed.js'

const times = { wait: 0, lease: 20, minWork: 0 } as const

describe.each(databaseTargets())('$name', (target) => {
  let bed: TestBed
  let broker: ScriptedBroker
  let fence: PgFence<typeof times>

  beforeAll(async () => {
    bed = await TestBed.create(target)
    broker = new ScriptedBroker()
    fence = bed.fence(broker)
  })
  beforeEach(() => bed.admin.query("DELETE FROM account; INSERT INTO account VALUES ('a', 100)"))
  afterAll(() => bed[Symbol.asyncDispose]())

  async function begun(level = ''): Promise<pg.Client> {
    const client = await bed.client()
    await client.query(`BEGIN ${level}`)
    return client
  }
  const withdraw = (client: pg.Client) => client.query("UPDATE account SET balance = balance - 10 WHERE id = 'a'")

  test('F1: runWith runs a section with the caller’s ticket and leaves the ticket to the caller', async () => {
    const ticket = await broker.acquire('own', times)
    broker.log.length = 0
    await fence.runWith(ticket, (tx) => tx.query("UPDATE account SET balance = balance - 10 WHERE id = 'a'"))
    expect(await bed.balance('a')).toBe('90')
    expect(broker.log).toEqual([])
    expect(await rejection(fence.runWith(ticket, () => undefined))).toMatchObject({ code: 'FENCE_STALE_TOKEN' })
  })

  test.each(['', 'ISOLATION LEVEL REPEATABLE READ', 'ISOLATION LEVEL SERIALIZABLE'])(
    'F1: a claim commits with the caller’s own transaction (%s)',
    async (level) => {
      const ticket = await broker.acquire('claimed', times)
      const client = await begun(level)
      await fence.claim(client, ticket)
      await withdraw(client)
      await client.query('COMMIT')
      expect(await bed.balance('a')).toBe('90')
      expect(await bed.fenceRow('claimed')).toMatchObject({ token: String(ticket.token) })
    },
  )

  test('F2: a refused claim leaves a transaction that cannot commit', async () => {
    const old = await broker.acquire('refused', times)
    await fence.run('refused', () => undefined)
    const client = await begun()
    const error = await rejection(fence.claim(client, old))
    expect(error).toMatchObject({ code: 'FENCE_STALE_TOKEN', token: old.token, highWater: broker.lastToken })
    expect(await rejection(withdraw(client))).toMatchObject({ code: '25P02' })
    expect((await client.query('COMMIT')).command).toBe('ROLLBACK')
    expect(await bed.balance('a')).toBe('100')
  })

  test('F4: the claim bounds the caller’s transaction', async () => {
    const ticket = await broker.acquire('bounded', times)
    const client = await begun()
    await fence.claim(client, ticket)
    const setting = target.major >= 17 ? 'transaction_timeout' : 'statement_timeout'
    const { rows } = await client.query<{ ms: number }>(
      'SELECT extract(epoch FROM current_setting($1)::interval)::float8 * 1000 AS ms',
      [setting],
    )
    expect(rows[0]?.ms).toBeGreaterThan(0)
    expect(rows[0]?.ms).toBeLessThanOrEqual(20_000)
    await client.query('ROLLBACK')
  })

  test('F1: what is no open transaction is refused before anything is sent', async () => {
    const ticket = await broker.acquire('nothing', times)
    const idle = await bed.client()
    const aborted = await begun()
    await aborted.query('SELECT 1/0').catch(() => undefined)
    for (const given of [undefined, {}, bed.admin, idle, aborted]) {
      const error = await rejection(fence.claim(given as pg.Client, ticket))
      expect(error).toMatchObject({ code: 'FENCE_INVALID_ARGUMENT' })
      expect((error as Error).message).toMatch(/^transaction: .* Nothing was sent/)
    }
    expect(await bed.fenceRow('nothing')).toBeUndefined()
  })

  test('F7: the shown SQL makes the tables that migrate() finds current', async () => {
    await using other = await TestBed.create(target, { migrated: false })
    await other.admin.query(fenceSchemaSql())
    const role = await other.role()
    const mine = other.fence(broker, {}, other.pool({ connectionString: role.url }))
    await mine.migrate()
    await mine.run('a', () => undefined)
    expect(await other.fenceRow('a')).toMatchObject({ token: String(broker.lastToken) })
  })
})
