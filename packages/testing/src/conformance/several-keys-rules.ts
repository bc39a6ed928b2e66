import type { Broker } from '@ticketing/client'
import { expect } from 'vitest'
import { fakeBroker } from '../fake-broker.js'
import { rule, type Suite } from './suite.js'
import { failureOf, withdraw } from './world.js'

/** What holds for a section on several keys: F8. */
export function severalKeysRules(suite: Suite): void {
  rule(suite, 'F8', 'the order is that of the bytes, where the text’s own differs', async (world) => {
    const name = world.key()
    // As JavaScript sorts, the second comes first; its bytes come second.
    const [first, second] = [`${name}\uff5e`, `${name}\u{1f511}`]
    const tokens = await world.one.fence.run([second, first], world.options(), (_, ticket) => [
      ticket.keys,
      ticket.tokenOf(first),
      ticket.tokenOf(second),
    ])
    const { lastToken } = world.broker
    expect(tokens).toEqual([[first, second], lastToken - 1n, lastToken])
    expect(world.broker.acquired.slice(-2).map(({ key }) => key)).toEqual([first, second])
    expect([await world.highWater(first), await world.highWater(second)]).toEqual([lastToken - 1n, lastToken])
  })

  rule(suite, 'F8', 'a key that is not obtained gives the others back, and its error to the caller', async (world) => {
    const name = world.key()
    const reason = new Error('somebody else has it')
    const broker: Broker = {
      acquire: (key, options) =>
        key.endsWith('-b') ? Promise.reject(reason) : world.broker.acquire(key, { ...options }),
    }
    const process = await world.open({ broker })
    const keys = [`${name}-a`, `${name}-b`, `${name}-c`]
    const work = () => expect.unreachable('the work began')
    expect(await failureOf(process.fence.run(keys, world.options(), work))).toBe(reason)
    expect(world.broker.log).toEqual([`acquire ${name}-a`, `release ${name}-a`])
  })

  rule(suite, 'F8, F4', 'the lease of a section is the least of its tickets’', async (world) => {
    const name = world.key()
    const broker: Broker = {
      acquire(key, options) {
        world.broker.leaseSeconds = key.endsWith('-b') ? 7 : 30
        return world.broker.acquire(key, options)
      },
    }
    const process = await world.open({ broker })
    const setting = world.major >= 17 ? 'transaction_timeout' : 'idle_in_transaction_session_timeout'
    const show = `SELECT extract(epoch FROM current_setting('${setting}')::interval)::float8 AS seconds`
    const keys = [`${name}-a`, `${name}-b`, `${name}-c`]
    await process.fence.run(keys, world.options(), async (handle, ticket) => {
      expect(ticket.remaining()).toBeLessThanOrEqual(7)
      const seconds = (await process.query(handle, show))[0]?.['seconds']
      expect(seconds).toBeGreaterThan(0)
      expect(seconds).toBeLessThanOrEqual(7)
    })
  })

  rule(
    suite,
    'F8, F3, fault 13',
    'many at once on overlapping pairs, each process with one connection',
    async (world) => {
      const broker = fakeBroker({ firstToken: world.broker.lastToken + 1n })
      const processes = await Promise.all([world.open({ broker }), world.open({ broker })])
      const name = world.key()
      const sections = Array.from({ length: 20 }, (_, number) => {
        const process = processes[number % 2] as (typeof processes)[number]
        const keys = [`${name}-${number % 4}`, `${name}-${(number + 1) % 4}`]
        return process.fence.run(keys, world.options({ wait: 60, retries: 20 }), (handle) =>
          process.query(handle, withdraw),
        )
      })
      await Promise.all(sections)
      expect(await world.balance()).toBe(100 - 20 * 10)
    },
  )
}
