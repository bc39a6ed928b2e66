import { expect } from 'vitest'
import { rule, type Suite } from './suite.js'
import { failureOf, withdraw } from './world.js'

const failSerialisation = "DO $$ BEGIN RAISE EXCEPTION 'as if two had met' USING ERRCODE = '40001'; END $$"

/** What is run again, and what is not: F5. */
export function retryRules(suite: Suite): void {
  rule(suite, 'F5', 'work is run again under the same ticket, in a transaction of its own', async (world) => {
    const key = world.key()
    const retries: unknown[] = []
    const stop = world.one.fence.on('retry', ({ of }) => retries.push(of))
    const tokens: bigint[] = []
    const section = world.one.fence.run(key, world.options({ retries: 2 }), async (handle, ticket) => {
      tokens.push(ticket.token)
      await world.one.query(handle, withdraw)
      if (tokens.length < 3) await world.one.query(handle, failSerialisation)
    })
    await section.finally(stop)
    expect(tokens).toEqual([world.broker.lastToken, world.broker.lastToken, world.broker.lastToken])
    expect(retries).toEqual(['work', 'work'])
    expect(world.broker.log).toEqual([`acquire ${key}`, `release ${key}`])
    expect(await world.balance()).toBe(90)
    expect(await world.highWater(key)).toBe(world.broker.lastToken)
  })

  rule(suite, 'F5, F15', 'without retries its serialisation failure reaches the caller as it came', async (world) => {
    let seen: unknown
    let runs = 0
    const error = await failureOf(
      world.run(world.key(), async (handle) => {
        runs += 1
        await world.one.query(handle, withdraw)
        await world.one.query(handle, failSerialisation).catch((failure: unknown) => {
          seen = failure
          throw failure
        })
      }),
    )
    expect(error).toBe(seen)
    expect(runs).toBe(1)
    expect(await world.balance()).toBe(100)
  })
}

/** The same at one level, since it waits for the server to look for a deadlock. */
export function deadlockRules(suite: Suite): void {
  rule(
    suite,
    'F5',
    'a claim that the database ends for a deadlock is tried again, never called stale',
    async (world) => {
      const [first, second] = [world.key(), world.key()]
      await world.run([first, second], () => undefined)
      const retries: unknown[] = []
      const stop = world.one.fence.on('retry', ({ of }) => retries.push(of))
      const lock = 'SELECT 1 FROM ticketing_fence WHERE lock_key = $1 FOR UPDATE'
      const other = await world.admin.connect()
      try {
        // The section looks first, so it is the one that is ended.
        await other.query("SET deadlock_timeout = '10s'; BEGIN")
        await other.query(lock, [Buffer.from(second)])
        const section = world.run([first, second], (handle) => world.one.query(handle, withdraw))
        await world.until(
          "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
        )
        await other.query(lock, [Buffer.from(first)])
        await other.query('COMMIT')
        await section
      } finally {
        other.release(true)
        stop()
      }
      expect(retries).toEqual(['claim'])
      expect(await world.balance()).toBe(90)
      expect(await world.highWater(second)).toBe(world.broker.lastToken)
    },
  )
}
