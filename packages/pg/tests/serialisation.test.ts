import { FenceError, type FenceEvents, StaleTokenError } from '@ticketing/core'
import { databaseTargets } from '@ticketing/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PgFence, PgTransaction } from '../src/index.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { gate, untilBlocked } from './support/server-view.js'
import { rejection, TestBed } from './support/test-bed.js'

type Retry = FenceEvents['retry']

const strict = ['repeatable read', 'serializable'] as const

describe.each(databaseTargets())('serialisation failures on $name', (target) => {
  let bed: TestBed
  beforeAll(async () => {
    bed = await TestBed.create(target)
    await bed.setDefault('deadlock_timeout', '50ms')
  })
  afterAll(() => bed[Symbol.asyncDispose]())

  function listen(fence: PgFence): Retry[] {
    const retries: Retry[] = []
    fence.on('retry', (event) => retries.push(event))
    return retries
  }
  const add = (tx: PgTransaction, id: string) =>
    tx.query('INSERT INTO account VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET balance = account.balance + 1', [id])

  /** Runs a section that holds its claim until another one's claim, started meanwhile, waits for it. */
  async function overtaken<R>(fence: PgFence, key: string, options: object, late: () => Promise<R>): Promise<R> {
    const claimed = gate()
    const mayEnd = gate()
    const first = fence.run(key, { ...options, wait: 0, lease: 20, minWork: 0 }, async (tx) => {
      await add(tx, key)
      claimed.open()
      await mayEnd.opened
    })
    await claimed.opened
    const second = late()
    second.catch(() => undefined)
    await untilBlocked(bed.admin)
    mayEnd.open()
    await first
    return await second
  }

  it.each(strict)(
    'F5, fault 24: at %s a newer token whose claim gets 40001 is retried under its ticket',
    async (isolation) => {
      const key = `newer-${isolation === 'serializable'}`
      const broker = new ScriptedBroker()
      const fence = bed.fence(broker)
      const retries = listen(fence)
      await fence.run(key, () => undefined)
      let runs = 0
      const read = await overtaken(fence, key, { isolation }, () =>
        fence.run(key, { isolation }, async (tx, ticket) => {
          runs++
          await add(tx, key)
          const { rows } = await tx.query<{ balance: string }>('SELECT balance FROM account WHERE id = $1', [key])
          return { balance: rows[0]?.balance, token: ticket.token }
        }),
      )
      expect(read).toEqual({ balance: '2', token: broker.lastToken })
      expect(runs).toBe(1)
      expect(retries).toMatchObject([{ keys: [key], attempt: 1, of: 'claim', error: { code: '40001' } }])
      expect(broker.log.filter((entry) => entry === `acquire ${key}`)).toHaveLength(3)
      expect(await bed.fenceRow(key)).toMatchObject({ token: String(broker.lastToken) })
    },
  )

  it.each(strict)('F5, F2: at %s an older token is refused as stale after the retry', async (isolation) => {
    const key = `older-${isolation === 'serializable'}`
    const broker = new ScriptedBroker()
    const fence = bed.fence(broker)
    const retries = listen(fence)
    broker.grantNext(7_000n)
    const late = overtaken(fence, key, { isolation }, () => {
      broker.grantNext(6_000n)
      return fence.run(key, { isolation }, (tx) => add(tx, key))
    })
    const error = await rejection(late)
    expect(error).toBeInstanceOf(StaleTokenError)
    expect(error).toMatchObject({ token: 6_000n, highWater: 7_000n })
    expect(retries).toMatchObject([{ of: 'claim', error: { code: '40001' } }])
    expect(await bed.balance(key)).toBe('1')
  })

  it('F5: at read committed the claim that waited goes through without a retry', async () => {
    const fence = bed.fence(new ScriptedBroker())
    const retries = listen(fence)
    await overtaken(fence, 'committed', {}, () => fence.run('committed', (tx) => add(tx, 'committed')))
    expect(retries).toEqual([])
    expect(await bed.balance('committed')).toBe('2')
  })

  it('F5: a claim that fails again and again is retried while lease is left, and then ends with the lease', async () => {
    await using own = await TestBed.create(target)
    await own.admin.query(`
      CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$;
      CREATE TRIGGER conflict BEFORE INSERT ON ticketing_fence FOR EACH ROW EXECUTE FUNCTION conflict()`)
    const broker = new ScriptedBroker()
    const fence = own.fence(broker)
    const retries = listen(fence)
    const started = performance.now()
    const error = await rejection(fence.run('always', { lease: 1 }, () => undefined))
    expect(performance.now() - started).toBeLessThan(1_500)
    expect(error).toBeInstanceOf(FenceError)
    expect((error as FenceError).code).toMatch(/^FENCE_LEASE_(TOO_SHORT|EXPIRED)$/)
    expect(retries.length).toBeGreaterThan(1)
    expect(broker.log).toEqual(['acquire always', 'release always'])
  })

  /** Two sections on different keys that lock two rows crosswise; the database ends one of them. */
  async function deadlock(id: string, retries: number) {
    const broker = new ScriptedBroker()
    const fence = bed.fence(broker)
    const events = listen(fence)
    await bed.admin.query('INSERT INTO account VALUES ($1, 0), ($2, 0)', [`${id}-1`, `${id}-2`])
    const met = gate()
    let arrived = 0
    const thrown: unknown[] = []
    let runs = 0
    const cross = (key: string, first: string, second: string) =>
      fence.run(key, { retries }, async (tx) => {
        runs++
        await add(tx, first)
        if (++arrived === 2) met.open()
        await met.opened
        await add(tx, second).catch((error: unknown) => {
          thrown.push(error)
          throw error
        })
      })
    const ends = await Promise.allSettled([
      cross(`${id}-left`, `${id}-1`, `${id}-2`),
      cross(`${id}-right`, `${id}-2`, `${id}-1`),
    ])
    const errors = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
    const balances = [await bed.balance(`${id}-1`), await bed.balance(`${id}-2`)]
    return { errors, thrown, runs, events, balances, acquires: broker.acquired.length }
  }

  it('F5, F15: a deadlock in the work reaches the caller as it is, and the work is not run again', async () => {
    const { errors, thrown, runs, events, balances } = await deadlock('once', 0)
    expect(errors).toMatchObject([{ code: '40P01' }])
    expect(errors[0]).toBe(thrown[0])
    expect(runs).toBe(2)
    expect(events).toEqual([])
    expect(balances).toEqual(['1', '1'])
  })

  it('F5: with retries the work that met a deadlock is run again under the same ticket', async () => {
    const { errors, runs, events, balances, acquires } = await deadlock('again', 1)
    expect(errors).toEqual([])
    expect(runs).toBe(3)
    expect(events).toMatchObject([{ of: 'work', attempt: 1, error: { code: '40P01' } }])
    expect(balances).toEqual(['2', '2'])
    expect(acquires).toBe(2)
  })

  /** Write skew: each reads what the other one writes, so that one of the COMMITs must fail. */
  async function skew(id: string, retries: number) {
    const fence = bed.fence(new ScriptedBroker())
    const events = listen(fence)
    const met = gate()
    let arrived = 0
    const section = (own: string) =>
      fence.run(`${id}-${own}`, { isolation: 'serializable', retries }, async (tx) => {
        await tx.query('SELECT count(*) FROM account WHERE id LIKE $1', [`${id}%`])
        if (++arrived === 2) met.open()
        await met.opened
        await add(tx, `${id}-${own}`)
      })
    const ends = await Promise.allSettled([section('left'), section('right')])
    return { events, errors: ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : [])) }
  }

  it('F5: a serialisation failure of the work or its COMMIT is surfaced and leaves nothing', async () => {
    const { errors, events } = await skew('skew', 0)
    expect(errors).toHaveLength(1)
    expect(events).toEqual([])
    const [error] = errors as [{ code: string; cause?: { code: string } }]
    expect(error).not.toBeInstanceOf(StaleTokenError)
    if (error.code !== '40001') expect(error).toMatchObject({ code: 'FENCE_COMMIT_FAILED', cause: { code: '40001' } })
    const { rows } = await bed.admin.query("SELECT 1 FROM account WHERE id LIKE 'skew%'")
    expect(rows).toHaveLength(1)
  })

  it('F5: with retries a serialisation failure at COMMIT is run again', async () => {
    const { errors, events } = await skew('retried', 3)
    expect(errors).toEqual([])
    expect(events.length).toBeGreaterThanOrEqual(1)
    expect(events.every((event) => event.of === 'work')).toBe(true)
    const { rows } = await bed.admin.query("SELECT 1 FROM account WHERE id LIKE 'retried%'")
    expect(rows).toHaveLength(2)
  })
})
