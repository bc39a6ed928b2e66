import 'reflect-metadata'
import type { INestApplicationContext, Type } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import { TicketBroker } from '@ticketing/client'
import { startServer } from '@ticketing/server'
import { type FakeBroker, fakeBroker } from '@ticketing/testing'
import { DataSource } from 'typeorm'
import { Account } from './account.entity'
import { AppModule, type AppOptions } from './app.module'
import { Approval } from './approval'
import { LockOnlyPayouts } from './lock-only'
import { Payout } from './payout.entity'
import { NotCovered, Payouts } from './payouts'
import { Sections } from './sections'

const databaseUrl = process.env['DATABASE_URL'] ?? ''
if (databaseUrl === '') throw new Error('Set DATABASE_URL to that of an empty database, which the tests may fill.')
const times = { wait: 60, lease: 30, minWork: 2 }

/** A point that something waits at until the test opens it. */
function gate(): { readonly passed: Promise<void>; open(): void } {
  let open = () => {}
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open }
}

describe('the payouts', () => {
  let app: INestApplicationContext
  let fake: FakeBroker
  /** What comes between a grant and the section that has asked for it. */
  let afterGrant: () => Promise<void>
  afterEach(() => app.close())

  async function start(options: Partial<AppOptions> = {}, broker?: object): Promise<Payouts> {
    const root = AppModule.register({ databaseUrl, ticketingAddress: '127.0.0.1:1', times, ...options })
    const builder = Test.createTestingModule({ imports: [root] })
    if (broker !== undefined) builder.overrideProvider(TicketBroker).useValue(broker)
    app = await (await builder.compile()).init()
    await app.get(DataSource).getRepository(Payout).deleteAll()
    await app.get(DataSource).getRepository(Account).deleteAll()
    await app.get(DataSource).getRepository(Account).insert({ id: 'alice', opening: 100, balance: 100 })
    return app.get(Payouts)
  }

  /** The application on a lock service whose clock stands still until the test moves it. */
  async function startOnFake(payouts: Type<Payouts>): Promise<Payouts> {
    fake = fakeBroker()
    afterGrant = async () => {}
    const acquire: TicketBroker['acquire'] = async (key, options) => {
      const ticket = await fake.acquire(key, options)
      await afterGrant()
      return ticket
    }
    return await start({ payouts }, { acquire, close: async () => {} })
  }

  /** A payout stands still between its read and its write, until its lease is over and another one is done. */
  async function stallInside(payoutsClass: Type<Payouts>): Promise<PromiseSettledResult<number>> {
    const payouts = await startOnFake(payoutsClass)
    const hasRead = gate()
    const approval = gate()
    app.get(Approval).approve = async ({ id }) => {
      if (id !== 'slow') return
      hasRead.open()
      await approval.passed
    }
    const ended = Promise.allSettled([payouts.pay('alice', 'slow', 30)])
    await hasRead.passed
    const next = payouts.pay('alice', 'quick', 40)
    expect(fake.waiters('account:alice')).toBe(1)
    fake.clock.advance('31s')
    expect(await next).toBe(60)
    approval.open()
    return (await ended)[0]
  }

  it('F1: a payout that stalls past its lease is refused, and the account adds up', async () => {
    const end = await stallInside(Payouts)
    expect(end).toMatchObject({ reason: { code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' } })
    const audit = await app.get(Payouts).audit('alice')
    expect(audit).toEqual({ opening: 100, balance: 60, paidOut: 40, addsUp: true })
  })

  it('without the fence the same payout overwrites the other one, and more is paid out than is deducted', async () => {
    const end = await stallInside(LockOnlyPayouts)
    expect(end).toEqual({ status: 'fulfilled', value: 70 })
    const audit = await app.get(Payouts).audit('alice')
    expect(audit).toEqual({ opening: 100, balance: 70, paidOut: 70, addsUp: false })
  })

  /** A payout stands still with its ticket in hand, before its transaction, and does not notice the time pass. */
  async function stallBefore(payoutsClass: Type<Payouts>): Promise<PromiseSettledResult<number>> {
    const payouts = await startOnFake(payoutsClass)
    const granted = gate()
    const resumed = gate()
    afterGrant = async () => {
      afterGrant = async () => {}
      granted.open()
      await resumed.passed
    }
    const ended = Promise.allSettled([payouts.pay('alice', 'slow', 30)])
    await granted.passed
    fake.suspendHolder('account:alice')
    const next = payouts.pay('alice', 'quick', 40)
    expect(fake.waiters('account:alice')).toBe(1)
    fake.clock.advance('31s')
    expect(await next).toBe(60)
    resumed.open()
    return (await ended)[0]
  }

  it('F2: a payout whose late start nobody noticed is refused by the database', async () => {
    const end = await stallBefore(Payouts)
    const [older, newer] = fake.log.filter(({ event }) => event === 'granted')
    expect(end).toMatchObject({
      reason: { code: 'FENCE_STALE_TOKEN', token: older?.token, highWater: newer?.token },
    })
    expect(await app.get(Payouts).audit('alice')).toMatchObject({ balance: 60, paidOut: 40 })
  })

  it('without the fence the late start goes through', async () => {
    const end = await stallBefore(LockOnlyPayouts)
    expect(end).toEqual({ status: 'fulfilled', value: 30 })
  })

  it('payouts at the same time take turns, and the last one is not covered', async () => {
    const payouts = await startOnFake(Payouts)
    const ends = await Promise.allSettled([0, 1, 2, 3].map((index) => payouts.pay('alice', `payout ${index}`, 30)))
    expect(ends.slice(0, 3)).toMatchObject([{ value: 70 }, { value: 40 }, { value: 10 }])
    expect(ends[3]).toMatchObject({ reason: expect.any(NotCovered) as unknown })
    expect(await payouts.audit('alice')).toEqual({ opening: 100, balance: 10, paidOut: 90, addsUp: true })
  })

  it('what uses the injected repository inside a section is refused, and nothing is paid out', async () => {
    const payouts = await startOnFake(Payouts)
    app.get(Approval).approve = async ({ accountId }) => {
      await payouts.balance(accountId)
    }
    await expect(payouts.pay('alice', 'one', 30)).rejects.toMatchObject({ code: 'FENCE_OUTSIDE_SECTION' })
    expect(await payouts.balance('alice')).toBe(100)
  })

  it('a shutdown waits for the last release, and closes the broker before the connections end', async () => {
    const server = await startServer({ listen: '127.0.0.1:0' })
    const next = TicketBroker.connect(server.address)
    try {
      const payouts = await start({ ticketingAddress: server.address })
      const broker = app.get(TicketBroker)
      const dataSource = app.get(DataSource)
      const close = broker.close.bind(broker)
      let connectedAtClose = false
      broker.close = async () => {
        await close()
        connectedAtClose = dataSource.isInitialized
      }
      expect(await payouts.pay('alice', 'last', 30)).toBe(70)
      await app.close()
      expect([connectedAtClose, dataSource.isInitialized]).toEqual([true, false])
      const ticket = await next.acquire('account:alice', { ...times, wait: 0 })
      await ticket.release()
      const late = app.get(Sections).fence.run('account:alice', () => {})
      await expect(late).rejects.toMatchObject({ code: 'TICKET_CLOSED' })
    } finally {
      await next.close()
      await server.close()
    }
  })
})
