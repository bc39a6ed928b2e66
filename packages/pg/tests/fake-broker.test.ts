import { type FakeBroker, fakeBroker } from '@ticketing/testing'
import { databaseTargets } from '@ticketing/testing/vitest'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type PgPool, pgFence } from '../src/index.js'
import { rejection, TestBed } from './support/test-bed.js'

const defaults = { wait: 60, lease: 30, minWork: 2 } as const

function gate(): { readonly passed: Promise<void>; open(): void } {
  let open = () => {}
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open }
}

describe.each(databaseTargets())('a fence on the fake broker and $name', (target) => {
  let bed: TestBed
  let pool: pg.Pool
  let broker: FakeBroker
  beforeAll(async () => {
    bed = await TestBed.create(target)
    pool = bed.pool({ max: 4 })
  })
  afterAll(() => bed[Symbol.asyncDispose]())
  beforeEach(async () => {
    broker = fakeBroker()
    await bed.admin.query("INSERT INTO account VALUES ('k', 100) ON CONFLICT (id) DO UPDATE SET balance = 100")
  })

  /** Reads, waits, and writes what it has computed: without exclusion, updates get lost. */
  const withdraw = async (
    fencePool: PgPool,
    amount: number,
    between: () => Promise<void> = async () => {},
  ): Promise<void> => {
    await pgFence(fencePool, { broker, defaults }).run('account:k', async (tx) => {
      const { rows } = await tx.query<{ balance: string }>("SELECT balance FROM account WHERE id = 'k'")
      await between()
      await tx.query("UPDATE account SET balance = $1 WHERE id = 'k'", [Number(rows[0]?.balance) - amount])
    })
  }

  it('S1: contending sections run one after another, and none is lost', async () => {
    let inside = 0
    const sections = Array.from({ length: 20 }, () =>
      withdraw(pool, 1, async () => {
        expect(++inside).toBe(1)
        await pool.query('SELECT 1')
        inside--
      }),
    )
    await Promise.all(sections)
    expect(await bed.balance('k')).toBe('80')
    expect(broker.log.filter(({ event }) => event === 'granted')).toHaveLength(20)
    expect(broker.holder('account:k')).toBeUndefined()
  })

  it('F1: a holder that stalls inside its work until its lease is over is rolled back, and the next commits', async () => {
    const stalled = gate()
    const resumed = gate()
    const holder = rejection(
      withdraw(pool, 10, async () => {
        stalled.open()
        await resumed.passed
      }),
    )
    await stalled.passed
    const next = withdraw(pool, 1)
    expect(broker.waiters('account:k')).toBe(1)
    broker.clock.advance('31s')
    await next
    resumed.open()
    expect(await holder).toMatchObject({ code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' })
    expect(await bed.balance('k')).toBe('99')
  })

  it('F2: a holder that stalls between its last look at the clock and its claim is refused by the database', async () => {
    const connected = gate()
    const resumed = gate()
    const slowPool: PgPool = {
      connect: async () => {
        const client = await pool.connect()
        connected.open()
        await resumed.passed
        return client
      },
    }
    const holder = rejection(withdraw(slowPool, 10))
    await connected.passed
    broker.suspendHolder('account:k')
    const next = withdraw(pool, 1)
    expect(broker.waiters('account:k')).toBe(1)
    broker.clock.advance('31s')
    await next
    const [stale, newer] = broker.log.filter(({ event }) => event === 'granted')
    resumed.open()
    expect(await holder).toMatchObject({
      code: 'FENCE_STALE_TOKEN',
      outcome: 'not-executed',
      key: 'account:k',
      token: stale?.token,
      highWater: newer?.token,
    })
    expect(await bed.balance('k')).toBe('99')
  })

  it('F10: a release whose answer is lost leaves the committed work committed', async () => {
    broker.loseNextAnswer('release')
    await withdraw(pool, 10)
    expect(await bed.balance('k')).toBe('90')
  })

  it('C3: a section whose grant is unknown never starts, and the next waits for the end of that lease', async () => {
    broker.loseNextAnswer('acquire')
    expect(await rejection(withdraw(pool, 10))).toMatchObject({ code: 'TICKET_INDETERMINATE', outcome: 'unknown' })
    const next = withdraw(pool, 1)
    expect(broker.waiters('account:k')).toBe(1)
    broker.clock.advance('30s')
    await next
    expect(await bed.balance('k')).toBe('99')
  })
})
