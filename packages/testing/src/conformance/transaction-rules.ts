import { expect } from 'vitest'
import { FaultProxy } from '../fault-proxy.js'
import { rule, type Suite } from './suite.js'
import { failureOf, Gate, withdraw } from './world.js'

/** What the work may do to its own transaction, and how each ends: F12, F14. */
const ownEnds: readonly (readonly string[])[] = [
  ['COMMIT'],
  ['ROLLBACK'],
  ['COMMIT', 'BEGIN'],
  ['ROLLBACK', 'BEGIN'],
  ['COMMIT AND CHAIN'],
  ['ROLLBACK AND CHAIN'],
  ['SAVEPOINT here', 'ROLLBACK TO here', 'ROLLBACK AND CHAIN'],
  ['SELECT 1/0', 'ROLLBACK'],
  ['SELECT 1/0', 'ROLLBACK', 'BEGIN'],
]

/** What a section promises about the end of its transaction: F12, F14, faults 1 and 3. */
export function transactionRules(suite: Suite): void {
  for (const statements of ownEnds) {
    const title = `${statements.join('; ')} by the work is never a success, and the pool stays sound`
    rule(suite, 'F12', title, async (world) => {
      const { one } = world
      const error = await failureOf(
        world.run(world.key(), async (handle) => {
          for (const statement of statements) await one.query(handle, statement).catch(() => undefined)
          await one.query(handle, 'SELECT 1').catch(() => undefined)
        }),
      )
      expect(error).toMatchObject({ code: 'FENCE_TX_ENDED', outcome: 'unknown' })
      await world.run(world.key(), (handle) => one.query(handle, withdraw))
      expect(await world.balance()).toBe(90)
    })
  }

  rule(
    suite,
    'F12',
    'a statement behind the work’s own COMMIT or ROLLBACK is refused before it is sent',
    async (world) => {
      for (const end of ['COMMIT', 'ROLLBACK', 'COMMIT AND CHAIN', 'ROLLBACK AND CHAIN']) {
        await failureOf(
          world.run(world.key(), async (handle) => {
            await world.one.query(handle, end)
            await world.one.query(handle, 'SELECT 1').catch(() => undefined)
            await world.one.query(handle, withdraw)
          }),
        )
      }
      expect(await world.balance()).toBe(100)
    },
    'stops after the work’s own end',
  )

  rule(suite, 'F12, fault 1', 'a statement error that the work caught has aborted the section', async (world) => {
    const key = world.key()
    const error = await failureOf(
      world.run(key, async (handle) => {
        await world.one.query(handle, withdraw)
        await world.one.query(handle, 'SELECT 1/0').catch(() => undefined)
        return 'all well'
      }),
    )
    expect(error).toMatchObject({ code: 'FENCE_TX_ABORTED', outcome: 'not-executed' })
    expect(await world.balance()).toBe(100)
    expect(await world.highWater(key)).toBeUndefined()
  })

  rule(suite, 'F12, fault 1', 'so has one of a statement that nobody awaited', async (world) => {
    const failing = 'SELECT 1 / (n - n) FROM (SELECT count(*) AS n FROM pg_sleep(0.1)) AS later'
    const error = await failureOf(
      world.run(world.key(), async (handle) => {
        await world.one.query(handle, withdraw)
        world.one.query(handle, failing).catch(() => undefined)
        await world.until("SELECT 1 FROM pg_stat_activity WHERE query = $1 AND state = 'active'", [failing])
      }),
    )
    expect(error).toMatchObject({ code: 'FENCE_TX_ABORTED', outcome: 'not-executed' })
    expect(await world.balance()).toBe(100)
  })

  rule(suite, 'F14, fault 3', 'what nobody awaits is refused once the work has returned', async (world) => {
    let late: Promise<unknown> = Promise.resolve()
    const key = world.key()
    await world.run(key, async (handle) => {
      // The first is still running when the work returns, and the section waits for it. What follows it comes too late;
      // so does the second, where it is not sent before the first is answered.
      const first = world.one.query(handle, 'SELECT 1 AS one FROM pg_sleep(0.3)')
      const following = failureOf(first.then(() => world.one.query(handle, withdraw)))
      await world.until("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT 1 AS one%' AND state = 'active'")
      const second = world.one.query(handle, 'SELECT 2 AS two FROM pg_sleep(0.1)').catch(() => undefined)
      late = Promise.all([following, second])
      // Some libraries send a statement some turns later.
      await world.until('SELECT 1')
    })
    await late
    expect(await world.balance()).toBe(100)
    expect(await world.highWater(key)).toBe(world.broker.lastToken)
  })

  rule(suite, 'F14, fault 3', 'work that goes on after the section is refused, never autocommitted', async (world) => {
    let late: unknown
    let running: Promise<unknown> = Promise.resolve()
    await world.run(world.key(), async (handle) => {
      late = handle
      await world.one.query(handle, withdraw)
      running = (async () => {
        for (;;) await world.one.query(handle, withdraw)
      })()
      running.catch(() => undefined)
    })
    const committed = await world.balance()
    await failureOf(running)
    await failureOf((async () => await world.one.query(late, withdraw))())
    expect(await world.one.queryPool("SELECT balance FROM account WHERE id = 'a'")).toMatchObject([
      { balance: committed },
    ])
  })

  rule(suite, 'F14, fault 3', 'so is work that goes on after a section that failed', async (world) => {
    let late: unknown
    await failureOf(
      world.run(world.key(), (handle) => {
        late = handle
        throw new Error('not today')
      }),
    )
    await failureOf((async () => await world.one.query(late, withdraw))())
    await failureOf((async () => await world.one.query(late, 'COMMIT'))())
    expect(await world.balance()).toBe(100)
  })

  rule(suite, 'F14', 'while COMMIT is on its way the handle is dead', async (world) => {
    await using proxy = await FaultProxy.before(world.url)
    const process = await world.open({ url: proxy.url })
    const commit = proxy.at('COMMIT', 'hold')
    let late: unknown
    const section = process.fence.run(world.key(), world.options(), async (handle) => {
      late = handle
      await process.query(handle, withdraw)
    })
    await commit.reached
    const refused = failureOf((async () => await process.query(late, withdraw))())
    commit.letGo()
    await section
    await refused
    expect(await world.balance()).toBe(90)
    expect(proxy.statements.filter((text) => text === withdraw)).toHaveLength(1)
  })

  rule(suite, 'F15', 'once COMMIT is on its way the caller’s signal has no effect', async (world) => {
    await using proxy = await FaultProxy.before(world.url)
    const process = await world.open({ url: proxy.url })
    const commit = proxy.at('COMMIT', 'hold')
    const controller = new AbortController()
    const options = world.options({ signal: controller.signal })
    const section = process.fence.run(world.key(), options, (handle) => process.query(handle, withdraw))
    await commit.reached
    controller.abort(new Error('too late'))
    commit.letGo()
    await section
    expect(await world.balance()).toBe(90)
  })

  rule(suite, 'F10, fault 16', 'nothing is released while COMMIT is on its way', async (world) => {
    await using proxy = await FaultProxy.before(world.url)
    const process = await world.open({ url: proxy.url })
    const commit = proxy.at('COMMIT', 'hold')
    const key = world.key()
    const section = process.fence.run(key, world.options(), (handle) => process.query(handle, withdraw))
    await commit.reached
    expect(world.broker.log).toEqual([`acquire ${key}`])
    commit.letGo()
    await section
    expect(world.broker.log).toEqual([`acquire ${key}`, `release ${key}`])
  })

  rule(suite, 'F9', 'work that outlives its section is no longer inside it', async (world) => {
    const goOn = new Gate()
    let later: Promise<unknown> = Promise.resolve()
    await world.run(world.key(), () => {
      later = goOn.wait().then(() => world.run(world.key(), () => 'a section of its own'))
    })
    goOn.open()
    expect(await later).toBe('a section of its own')
  })
}
