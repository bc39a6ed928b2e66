import { expect } from 'vitest'
import { FaultProxy } from '../fault-proxy.js'
import { rule, type Suite } from './suite.js'
import { failureOf, Gate, withdraw } from './world.js'

/** What holds when time runs out: F1, F4, faults 12 and 14. */
export function boundRules(suite: Suite): void {
  rule(suite, 'F1, F4', 'a section whose lease ends inside is rolled back, and sends no COMMIT', async (world) => {
    world.broker.leaseSeconds = 1
    const key = world.key()
    const error = await failureOf(
      world.run(key, async (handle) => {
        await world.one.query(handle, withdraw)
        await new Promise(() => undefined)
      }),
    )
    expect(error).toMatchObject({ code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' })
    expect(await world.balance()).toBe(100)
    expect(await world.highWater(key)).toBeUndefined()
    world.broker.leaseSeconds = undefined
    // The server may end the connection just before our ROLLBACK; who cannot destroy it hands it out once more.
    const again = world.run(world.key(), () => 'sound')
    if (suite.subject.missing?.['destroys connections'] !== undefined) await again.catch(() => undefined)
    else expect(await again).toBe('sound')
  })

  rule(
    suite,
    'F4, F15, fault 12',
    'a statement that runs when the lease ends is ended by the database',
    async (world) => {
      world.broker.leaseSeconds = 1
      const error = await failureOf(
        world.run(world.key(), async (handle) => {
          await world.one.query(handle, withdraw)
          await world.one.query(handle, 'SELECT pg_sleep(30)')
        }),
      )
      expect(error).toMatchObject({ code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' })
      await world.until(
        "SELECT 1 WHERE NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT pg_sleep%' AND state = 'active')",
      )
      expect(await world.balance()).toBe(100)
    },
  )

  rule(
    suite,
    'F4, F1, F6',
    'a stopped holder does not keep its successor waiting, and writes nothing when it wakes',
    async (world) => {
      await using proxy = await FaultProxy.before(world.url)
      const stopped = await world.open({ url: proxy.url })
      world.broker.leaseSeconds = 1
      const key = world.key()
      const holding = new Gate()
      const first = failureOf(
        stopped.fence.run(key, world.options(), async (handle) => {
          await stopped.query(handle, withdraw)
          // From here on the server hears nothing of it, as of a process that stands still.
          proxy.freeze()
          await holding.wait()
          await stopped.query(handle, withdraw)
        }),
      )
      await holding.reached
      world.broker.leaseSeconds = undefined
      await world.other.fence.run(key, world.options(), (handle) => world.other.query(handle, withdraw))
      expect(await world.highWater(key)).toBe(world.broker.lastToken)
      holding.open()
      proxy.thaw()
      const error = await first
      expect(['FENCE_LEASE_EXPIRED', 'FENCE_STALE_TOKEN']).toContain(error['code'])
      expect(await world.balance()).toBe(90)
    },
  )

  rule(suite, 'F4', 'a claim that waits for its row until its bound is blocked, not stale', async (world) => {
    const key = world.key()
    await world.run(key, () => undefined)
    const locker = await world.admin.connect()
    await locker.query('BEGIN')
    await locker.query('SELECT 1 FROM ticketing_fence WHERE lock_key = $1 FOR UPDATE', [Buffer.from(key)])
    try {
      world.broker.leaseSeconds = 1
      const error = await failureOf(world.run(key, (handle) => world.one.query(handle, withdraw)))
      expect(error).toMatchObject({ code: 'FENCE_BLOCKED', outcome: 'not-executed' })
    } finally {
      await locker.query('ROLLBACK')
      locker.release()
    }
    world.broker.leaseSeconds = undefined
    expect(await world.run(key, () => 'free again')).toBe('free again')
    expect(await world.balance()).toBe(100)
  })

  rule(
    suite,
    'F4, fault 14',
    'the database bounds the transaction by the lease, and the bound ends with it',
    async (world) => {
      const setting = world.major >= 17 ? 'transaction_timeout' : 'idle_in_transaction_session_timeout'
      const show = `SELECT extract(epoch FROM current_setting('${setting}')::interval)::float8 AS seconds`
      const rows = await world.run(world.key(), (handle) => world.one.query(handle, show))
      expect(rows[0]?.['seconds']).toBeGreaterThan(25)
      expect(rows[0]?.['seconds']).toBeLessThanOrEqual(30)
      expect(await world.one.queryPool(show)).toMatchObject([{ seconds: 0 }])
    },
  )
}
