import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { AcquireOptions, Broker } from '@ticketing/client'
import { knexFence } from '@ticketing/knex'
import { createDatabase, type FakeBroker, fakeBroker, type TestDatabase } from '@ticketing/testing'
import { databaseTargets } from '@ticketing/testing/vitest'
import Knex, { type Knex as KnexInstance } from 'knex'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { audit, createTables, Inventory, type Order, OutOfStock, type Sections } from '../src/inventory.mjs'
import { lockOnly } from '../src/lock-only.mjs'
import { gate } from './support/gate.js'

const times = { wait: 60, lease: 30, minWork: 2 } satisfies AcquireOptions
const slow: Order = { id: 'slow', articleId: 7, quantity: 3 }
const quick: Order = { id: 'quick', articleId: 7, quantity: 4 }

describe.each(databaseTargets())('the inventory on $name', (target) => {
  let database: TestDatabase
  let knex: KnexInstance
  let broker: FakeBroker
  beforeAll(async () => {
    database = await createDatabase(target)
    knex = Knex({ client: 'pg', connection: database.url, pool: { min: 0, max: 5 } })
    await createTables(knex)
    await fenced(fakeBroker()).migrate()
  })
  afterAll(async () => {
    await knex.destroy()
    await database[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    broker = fakeBroker()
    await knex('reservation').delete()
    await knex('article').delete()
    await knex('article').insert({ id: 7, stock: 10, available: 10 })
  })

  const fenced = (broker: Broker) => knexFence(knex, { broker, defaults: times })

  /** The slow order stands still between its read and its write, until its lease is over and the quick one is done. */
  async function stallInside(sections: Sections): Promise<PromiseSettledResult<number>> {
    const hasRead = gate()
    const approval = gate()
    const inventory = new Inventory(sections, async ({ id }) => {
      if (id !== 'slow') return
      hasRead.open()
      await approval.passed
    })
    const ended = Promise.allSettled([inventory.reserve(slow)])
    await hasRead.passed
    const next = inventory.reserve(quick)
    expect(broker.waiters('article:7')).toBe(1)
    broker.clock.advance('31s')
    expect(await next).toBe(6)
    approval.open()
    return (await ended)[0]
  }

  it('F1: an order that stalls past its lease is refused, and the stock adds up', async () => {
    const end = await stallInside(fenced(broker))
    expect(end).toMatchObject({ reason: { code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' } })
    expect(await audit(knex, 7)).toEqual({ stock: 10, available: 6, reserved: 4, addsUp: true })
  })

  it('without the fence the same order overwrites the other one, and more is sold than there is', async () => {
    const end = await stallInside(lockOnly(knex, broker, times))
    expect(end).toEqual({ status: 'fulfilled', value: 7 })
    expect(await audit(knex, 7)).toEqual({ stock: 10, available: 7, reserved: 7, addsUp: false })
  })

  /** The slow order stands still with its ticket in hand, before its transaction, and does not notice the time pass. */
  async function stallBefore(makeSections: (broker: Broker) => Sections): Promise<PromiseSettledResult<number>> {
    const granted = gate()
    const resumed = gate()
    const slowBroker: Broker = {
      acquire: async (key, options) => {
        const ticket = await broker.acquire(key, options)
        granted.open()
        await resumed.passed
        return ticket
      },
    }
    const approve = async () => {}
    const ended = Promise.allSettled([new Inventory(makeSections(slowBroker), approve).reserve(slow)])
    await granted.passed
    broker.suspendHolder('article:7')
    const next = new Inventory(makeSections(broker), approve).reserve(quick)
    expect(broker.waiters('article:7')).toBe(1)
    broker.clock.advance('31s')
    expect(await next).toBe(6)
    resumed.open()
    return (await ended)[0]
  }

  it('F2: an order whose late start nobody noticed is refused by the database', async () => {
    const end = await stallBefore(fenced)
    const [older, newer] = broker.log.filter(({ event }) => event === 'granted')
    expect(end).toMatchObject({
      reason: { code: 'FENCE_STALE_TOKEN', token: older?.token, highWater: newer?.token },
    })
    expect(await audit(knex, 7)).toMatchObject({ available: 6, reserved: 4 })
  })

  it('without the fence the late start goes through', async () => {
    const end = await stallBefore((broker) => lockOnly(knex, broker, times))
    expect(end).toEqual({ status: 'fulfilled', value: 3 })
  })

  it('orders at the same time take turns, and the last one finds nothing left', async () => {
    const inventory = new Inventory(fenced(broker), async () => {})
    const orders = Array.from({ length: 4 }, (_, index) => ({ id: `order ${index}`, articleId: 7, quantity: 3 }))
    const ends = await Promise.allSettled(orders.map((order) => inventory.reserve(order)))
    expect(ends.filter((end) => end.status === 'fulfilled').map((end) => end.value)).toEqual([7, 4, 1])
    expect(ends[3]).toMatchObject({ reason: expect.any(OutOfStock) })
    expect(await audit(knex, 7)).toEqual({ stock: 10, available: 1, reserved: 9, addsUp: true })
  })
})

describe('the program', () => {
  const program = fileURLToPath(new URL('../src/main.mjs', import.meta.url))

  it('shows that the stock adds up', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [program])
    expect(stdout).toMatch(/^order slow: +refused, FENCE_LEASE_EXPIRED: nothing of it was written$/m)
    expect(stdout).toMatch(/^the books: +6 available \+ 4 reserved of 10: ok$/m)
  })

  it('shows without the fence that it does not, and exits with 1', async () => {
    await expect(promisify(execFile)(process.execPath, [program, '--unfenced'])).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^the books: +7 available \+ 7 reserved of 10: WRONG$/m),
    })
  })
})
