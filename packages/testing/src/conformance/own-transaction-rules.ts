import { expect } from 'vitest'
import { rule, type Suite } from './suite.js'
import { failureOf, ticketOf, withdraw } from './world.js'

/** What holds for tickets and transactions of the caller's own. */
export function ownTransactionRules(suite: Suite): void {
  rule(
    suite,
    'F1, F2',
    'runWith takes a ticket of the caller’s own, once, and leaves it to the caller',
    async (world) => {
      const ticket = await world.broker.acquire(world.key(), { wait: 0, lease: 30, minWork: 0 })
      world.broker.log.length = 0
      const options = { isolation: world.level }
      await world.one.fence.runWith(ticket, options, (handle) => world.one.query(handle, withdraw))
      const again = await failureOf(world.one.fence.runWith(ticket, options, () => undefined))
      expect(again).toMatchObject({ code: 'FENCE_STALE_TOKEN', token: ticket.token, highWater: ticket.token })
      expect(world.broker.log).toEqual([])
      expect(await world.balance()).toBe(90)
    },
  )

  rule(suite, 'F1', 'a claim is committed with the caller’s own transaction', async (world) => {
    const ticket = ticketOf(world.key(), world.broker.nextToken())
    await world.one.transaction(async (tx) => {
      await world.one.fence.claim(tx, ticket)
      await world.one.queryCaller(tx, withdraw)
    })
    expect(await world.balance()).toBe(90)
    expect(await world.highWater(ticket.key)).toBe(ticket.token)
  })

  rule(suite, 'F2', 'a refused claim leaves a transaction of the caller that cannot commit', async (world) => {
    const key = world.key()
    await world.run(key, () => undefined)
    const stale = ticketOf(key, world.broker.lastToken - 1n)
    let refusal: unknown
    await world.one
      .transaction(async (tx) => {
        refusal = await failureOf(world.one.fence.claim(tx, stale))
        await world.one.queryCaller(tx, withdraw).catch(() => undefined)
      })
      .catch(() => undefined)
    expect(refusal).toMatchObject({ code: 'FENCE_STALE_TOKEN', highWater: world.broker.lastToken })
    expect(await world.balance()).toBe(100)
    expect(await world.one.queryPool('SELECT 1 AS one')).toMatchObject([{ one: 1 }])
  })
}
