import { expect } from 'vitest'
import { fakeBroker } from '../fake-broker.js'
import { FaultProxy } from '../fault-proxy.js'
import { rule, type Suite } from './suite.js'
import { failureOf, ticketOf, withdraw } from './world.js'

/** Longer than the times that libraries give to a transaction and to the wait for a connection, if they are not told. */
const pastLibraryTimesSeconds = 5.3

/** What a library's own habits must not change: F3, F9, F10, faults 8, 13, 15 and 19. */
export function libraryRules(suite: Suite): void {
  rule(suite, 'F3, fault 13', 'many at once on one key and one connection all finish', async (world) => {
    const broker = fakeBroker({ firstToken: world.broker.lastToken + 1n })
    const process = await world.open({ broker })
    const key = world.key()
    const sections = Array.from({ length: 20 }, () =>
      process.fence.run(key, world.options({ wait: 60 }), async (handle) => {
        const rows = await process.query(handle, "SELECT balance FROM account WHERE id = 'a'")
        const next = Number(rows[0]?.['balance']) - 1
        await process.query(handle, `UPDATE account SET balance = ${next} WHERE id = 'a'`)
      }),
    )
    await Promise.all(sections)
    expect(await world.balance()).toBe(80)
  })

  rule(suite, 'F1, fault 15', 'a claim inside a nested transaction of the caller is refused', async (world) => {
    const { one } = world
    const ticket = ticketOf(world.key(), world.broker.nextToken())
    await one.transaction(async (tx) => {
      await one.queryCaller(tx, withdraw)
      // Where the library has no nested transactions, no caller can hand one in.
      const refusal = await one.nest?.(tx, (inner) => failureOf(one.fence.claim(inner, ticket)))
      if (one.nest) expect(refusal).toMatchObject({ code: 'FENCE_INVALID_ARGUMENT', outcome: 'not-executed' })
    })
    expect(await world.balance()).toBe(90)
    expect(await world.highWater(ticket.key)).toBeUndefined()
  })

  rule(suite, 'F10, fault 8', 'a release whose answer never comes keeps nobody waiting', async (world) => {
    world.broker.onRelease = () => new Promise(() => undefined)
    expect(await world.run(world.key(), () => 'committed')).toBe('committed')
    const reason = new Error('not today')
    expect(await failureOf(world.run(world.key(), () => Promise.reject(reason)))).toBe(reason)
  })

  rule(suite, 'F13, fault 19', 'what a failed COMMIT said stays, also if a ROLLBACK fails behind it', async (world) => {
    await using proxy = await FaultProxy.before(world.url)
    const process = await world.open({ url: proxy.url })
    await process.fence.run(world.key(), world.options(), () => undefined)
    proxy.at('ROLLBACK', 'cut')
    const error = await failureOf(
      process.fence.run(world.key(), world.options(), (handle) =>
        process.query(handle, "INSERT INTO child VALUES ('nobody')"),
      ),
    )
    expect(error).toMatchObject({ code: 'FENCE_COMMIT_FAILED', outcome: 'not-executed' })
    expect(error.cause).toBeInstanceOf(Error)
    proxy.at('ROLLBACK', 'hold').letGo()
    expect(await process.fence.run(world.key(), world.options(), () => 'sound')).toBe('sound')
  })
}

/** The same at one level, since it takes seconds. */
export function libraryTimeRules(suite: Suite): void {
  rule(
    suite,
    'F4, fault 14',
    'work and the wait for a connection may take longer than a library allows',
    async (world) => {
      const wait = `SELECT 1 AS one FROM pg_sleep(${pastLibraryTimesSeconds})`
      const long = world.run(world.key(), async (handle) => {
        await world.one.query(handle, wait)
        await world.one.query(handle, withdraw)
      })
      const waiting = world.run(world.key(), (handle) => world.one.query(handle, withdraw))
      await Promise.all([long, waiting])
      expect(await world.balance()).toBe(80)
    },
  )
}
