import { expect } from 'vitest'
import { rule, type Suite } from './suite.js'
import { failureOf, Gate, withdraw } from './world.js'

/** What the caller's signal does before the work has begun: F15. What it does later stands with the transaction. */
export function cancelRules(suite: Suite): void {
  rule(suite, 'F15', 'a signal that has fired lets nothing begin', async (world) => {
    const reason = new Error('enough')
    const options = { signal: AbortSignal.abort(reason) }
    expect(await failureOf(world.run(world.key(), () => expect.unreachable('the work began'), options))).toBe(reason)
    expect(world.broker.log).toEqual([])
  })

  rule(suite, 'F15, F3', 'whoever waits for a connection is let go, and takes none', async (world) => {
    const taken = new Gate()
    const blocking = world.one.transaction(async (tx) => {
      await world.one.queryCaller(tx, 'SELECT 1')
      await taken.wait()
    })
    await taken.reached
    const controller = new AbortController()
    const reason = new Error('enough')
    const key = world.key()
    const work = () => expect.unreachable('the work began')
    const section = failureOf(world.run(key, work, { signal: controller.signal }))
    // It has its ticket and waits for the one connection.
    await world.until('SELECT 1')
    controller.abort(reason)
    expect(await section).toBe(reason)
    expect(world.broker.log).toEqual([`acquire ${key}`, `release ${key}`])
    taken.open()
    await blocking
    expect(await world.run(world.key(), () => 'sound')).toBe('sound')
    expect(await world.highWater(key)).toBeUndefined()
  })

  rule(suite, 'F15', 'a claim that waits for its row is given up, and claims nothing', async (world) => {
    const key = world.key()
    await world.run(key, () => undefined)
    const before = await world.highWater(key)
    const locker = await world.admin.connect()
    const controller = new AbortController()
    const reason = new Error('enough')
    try {
      await locker.query('BEGIN')
      await locker.query('SELECT 1 FROM ticketing_fence WHERE lock_key = $1 FOR UPDATE', [Buffer.from(key)])
      const work = () => expect.unreachable('the work began')
      const section = failureOf(world.run(key, work, { signal: controller.signal }))
      await world.until(
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
      )
      controller.abort(reason)
      await locker.query('COMMIT')
      expect(await section).toBe(reason)
    } finally {
      locker.release(true)
    }
    expect(await world.highWater(key)).toBe(before)
    await world.run(key, (handle) => world.one.query(handle, withdraw))
    expect(await world.balance()).toBe(90)
  })
}
