import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { AcquireOptions, Broker } from '@ticketing/client'
import { createDatabase, type FakeBroker, fakeBroker, type TestDatabase } from '@ticketing/testing'
import { databaseTargets } from '@ticketing/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { connect, createTables, type FencedPrisma } from '../src/database.js'
import { lockOnly } from '../src/lock-only.js'
import { audit, NotCovered, type Payment, Payments } from '../src/payments.js'
import { gate } from './support/gate.js'

const times = { wait: 60, lease: 30, minWork: 2 } satisfies AcquireOptions
const slow: Payment = { id: 'slow', from: 'alice', to: 'bob', amount: 30 }
const quick: Payment = { id: 'quick', from: 'alice', to: 'carol', amount: 40 }
const afterQuick = { balances: { alice: 60, bob: 100, carol: 140 }, addsUp: true }

describe.each(databaseTargets())('the payments on $name', (target) => {
  let database: TestDatabase
  let broker: FakeBroker
  /** Looks on from outside. */
  let prisma: FencedPrisma
  const clients: FencedPrisma[] = []
  beforeAll(async () => {
    database = await createDatabase(target)
    prisma = fenced(fakeBroker())
    await createTables(prisma)
  })
  afterAll(async () => {
    for (const client of clients) await client.$disconnect()
    await database[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    broker = fakeBroker()
    await prisma.payment.deleteMany()
    await prisma.account.deleteMany()
    const opening = { opening: 100, balance: 100 }
    await prisma.account.createMany({ data: ['alice', 'bob', 'carol'].map((id) => ({ id, ...opening })) })
  })

  function fenced(broker: Broker): FencedPrisma {
    const client = connect(database.url, broker, times)
    clients.push(client)
    return client
  }
  const unfenced = (broker: Broker) => lockOnly(prisma, broker, times)

  /** The slow payment stands still between its reads and its writes, until its leases are over and the quick one is done. */
  async function stallInside(sections: FencedPrisma): Promise<PromiseSettledResult<number>> {
    const hasRead = gate()
    const approval = gate()
    const payments = new Payments(sections, async ({ id }) => {
      if (id !== 'slow') return
      hasRead.open()
      await approval.passed
    })
    const ended = Promise.allSettled([payments.pay(slow)])
    await hasRead.passed
    const next = payments.pay(quick)
    expect(broker.waiters('account:alice')).toBe(1)
    broker.clock.advance('31s')
    expect(await next).toBe(60)
    approval.open()
    return (await ended)[0]
  }

  it('F1: a payment that stalls past its lease is refused, and the money adds up', async () => {
    const end = await stallInside(fenced(broker))
    expect(end).toMatchObject({ reason: { code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' } })
    expect(await audit(prisma)).toEqual(afterQuick)
  })

  it('without the fence the same payment overwrites the other one, and there is more money than before', async () => {
    const end = await stallInside(unfenced(broker))
    expect(end).toEqual({ status: 'fulfilled', value: 70 })
    expect(await audit(prisma)).toEqual({ balances: { alice: 70, bob: 130, carol: 140 }, addsUp: false })
  })

  /** The slow payment stands still with its tickets in hand, before its transaction, and does not notice the time pass. */
  async function stallBefore(section: (broker: Broker) => FencedPrisma): Promise<PromiseSettledResult<number>> {
    const granted = gate()
    const resumed = gate()
    const slowBroker: Broker = {
      acquire: async (key, options) => {
        const ticket = await broker.acquire(key, options)
        if (key !== 'account:bob') return ticket
        granted.open()
        await resumed.passed
        return ticket
      },
    }
    const approve = async () => {}
    const ended = Promise.allSettled([new Payments(section(slowBroker), approve).pay(slow)])
    await granted.passed
    for (const key of ['account:alice', 'account:bob']) broker.suspendHolder(key)
    const next = new Payments(section(broker), approve).pay(quick)
    expect(broker.waiters('account:alice')).toBe(1)
    broker.clock.advance('31s')
    expect(await next).toBe(60)
    resumed.open()
    return (await ended)[0]
  }

  it('F2: a payment whose late start nobody noticed is refused by the database', async () => {
    const end = await stallBefore(fenced)
    const [older, newer] = broker.log.filter(({ event, key }) => event === 'granted' && key === 'account:alice')
    expect(end).toMatchObject({
      reason: { code: 'FENCE_STALE_TOKEN', key: 'account:alice', token: older?.token, highWater: newer?.token },
    })
    expect(await audit(prisma)).toEqual(afterQuick)
  })

  it('without the fence the late start goes through', async () => {
    expect(await stallBefore(unfenced)).toEqual({ status: 'fulfilled', value: 30 })
  })

  it('F8: payments to and fro at the same time take turns, and the last one is not covered', async () => {
    const payments = new Payments(fenced(broker), async () => {})
    const ends = await Promise.allSettled([
      payments.pay({ id: '1', from: 'alice', to: 'bob', amount: 90 }),
      payments.pay({ id: '2', from: 'bob', to: 'alice', amount: 150 }),
      payments.pay({ id: '3', from: 'alice', to: 'bob', amount: 120 }),
      payments.pay({ id: '4', from: 'bob', to: 'alice', amount: 161 }),
    ])
    expect(ends.filter((end) => end.status === 'fulfilled').map((end) => end.value)).toEqual([10, 40, 40])
    expect(ends[3]).toMatchObject({ reason: expect.any(NotCovered) })
    expect(await audit(prisma)).toEqual({ balances: { alice: 40, bob: 160, carol: 100 }, addsUp: true })
  })
})

describe('the program', () => {
  const program = fileURLToPath(new URL('../dist/main.mjs', import.meta.url))

  it('shows that the money adds up', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [program])
    expect(stdout).toMatch(/^payment slow: +refused, FENCE_LEASE_EXPIRED: nothing of it was written$/m)
    expect(stdout).toMatch(/^the books: +alice 60, bob 100, carol 140: 300 of 300: ok$/m)
  })

  it('shows without the fence that it does not, and exits with 1', async () => {
    await expect(promisify(execFile)(process.execPath, [program, '--unfenced'])).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^the books: +alice 70, bob 130, carol 140: 340 of 300: WRONG$/m),
    })
  })
})
