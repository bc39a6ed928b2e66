import { expect } from 'vitest'
import { FaultProxy } from '../fault-proxy.js'
import { rule, type Suite } from './suite.js'
import { failureOf, Gate, ticketOf, withdraw } from './world.js'

/** What the claim promises: F1, F2, F5, F7, F11. */
export function claimRules(suite: Suite): void {
  rule(
    suite,
    'F1',
    'the high-water moves with the business write, and the section’s result is the work’s',
    async (world) => {
      const key = world.key()
      const result = await world.run(key, async (handle) => {
        await world.one.query(handle, withdraw)
        return { answer: 42 }
      })
      expect(result).toEqual({ answer: 42 })
      expect(await world.balance()).toBe(90)
      expect(await world.highWater(key)).toBe(world.broker.lastToken)
    },
  )

  rule(suite, 'F1', 'the claim is the transaction’s first statement, and there is one transaction', async (world) => {
    await using proxy = await FaultProxy.before(world.url)
    const process = await world.open({ url: proxy.url })
    await process.fence.run(world.key(), world.options(), (handle) => process.query(handle, withdraw))
    const sent = proxy.statements.filter((text) => !/^(SET|SHOW)\b/i.test(text))
    const claim = sent.findIndex((text) => text.includes('INSERT INTO "ticketing_fence"'))
    expect(sent[claim - 1]).toMatch(/^(BEGIN|START TRANSACTION)/i)
    expect(sent.filter((text) => /^(BEGIN|START TRANSACTION|COMMIT|ROLLBACK)/i.test(text)).length).toBe(2)
    expect(sent.indexOf(withdraw)).toBeGreaterThan(claim)
    expect(sent.at(-1)).toMatch(/^COMMIT/)
  })

  rule(
    suite,
    'F12',
    'a section sends BEGIN, the claim, its own statements and COMMIT, and no other that costs a round trip',
    async (world) => {
      await using proxy = await FaultProxy.before(world.url)
      const process = await world.open({ url: proxy.url })
      await process.fence.run(world.key(), world.options(), (handle) => process.query(handle, withdraw))
      const begin = proxy.statements.findIndex((text) => /^(BEGIN|START TRANSACTION)/i.test(text))
      const steps = proxy.statements.slice(begin + 1).map((text) => {
        if (text.includes('INSERT INTO "ticketing_fence"')) return 'the claim'
        // Before PostgreSQL 17 pg sends the bounds again, in the same packet as the statement behind them.
        if (text.includes("set_config('statement_timeout'")) return 'bounds'
        return text
      })
      const ownCost = steps.filter((step) => step !== 'bounds' && !step.startsWith('SET TRANSACTION'))
      expect(ownCost).toEqual(['the claim', withdraw, expect.stringMatching(/^COMMIT/)])
    },
    'checks without a round trip',
  )

  rule(
    suite,
    'F1',
    'a server that has forgotten its prepared statements takes the claim all the same',
    async (world) => {
      const destroyed: unknown[] = []
      const stop = world.one.fence.on('connection-destroyed', ({ error }) => destroyed.push(error))
      for (let round = 0; round < 2; round++) {
        await world.run(world.key(), (handle) => world.one.query(handle, withdraw))
        await world.one.queryPool('DEALLOCATE ALL')
      }
      // In these two rounds the statement is prepared anew.
      for (let round = 0; round < 2; round++) {
        await world.run(world.key(), (handle) => world.one.query(handle, withdraw))
      }
      stop()
      expect(await world.balance()).toBe(60)
      expect(destroyed).toEqual([])
    },
  )

  rule(
    suite,
    'F2',
    'an equal and a lower token are refused, the work never runs, and nothing is written',
    async (world) => {
      const key = world.key()
      await world.run(key, () => undefined)
      const highWater = world.broker.lastToken
      for (const token of [highWater, highWater - 1n, 1n]) {
        world.broker.grantNext(token)
        let ran = false
        const error = await failureOf(
          world.run(key, async (handle) => {
            ran = true
            await world.one.query(handle, withdraw)
          }),
        )
        expect(error).toMatchObject({ code: 'FENCE_STALE_TOKEN', outcome: 'not-executed', key, token, highWater })
        expect(ran).toBe(false)
      }
      world.broker.grantNext(highWater + 1n)
      expect(await world.balance()).toBe(100)
      expect(await world.highWater(key)).toBe(highWater)
      expect(await world.run(key, () => 'the pool is sound')).toBe('the pool is sound')
    },
  )

  rule(suite, 'F2', 'what a section rolled back moves no high-water', async (world) => {
    const key = world.key()
    await failureOf(world.run(key, () => Promise.reject(new Error('not today'))))
    expect(await world.highWater(key)).toBeUndefined()
  })

  rule(suite, 'F7', 'a floor refuses a token at or below it, whether or not the key has a row', async (world) => {
    const floor = world.broker.nextToken()
    await world.admin.query('UPDATE ticketing_fence_floor SET floor = $1', [String(floor)])
    try {
      world.broker.grantNext(floor)
      const error = await failureOf(world.run(world.key(), () => undefined))
      expect(error).toMatchObject({ code: 'FENCE_STALE_TOKEN', token: floor, highWater: floor })
      expect(await world.run(world.key(), () => 'above')).toBe('above')
    } finally {
      await world.admin.query('UPDATE ticketing_fence_floor SET floor = 0')
    }
  })

  rule(suite, 'F11, fault 25', 'tokens are compared as the integers they are', async (world) => {
    const key = world.key()
    const before = world.broker.lastToken
    const beyond = 2n ** 60n
    for (const token of [9n, 10n, beyond + 1n, beyond + 2n, 2n ** 63n - 1n]) {
      world.broker.grantNext(token)
      await world.run(key, () => undefined)
      expect(await world.highWater(key)).toBe(token)
      world.broker.grantNext(token)
      expect(await failureOf(world.run(key, () => undefined))).toMatchObject({ token, highWater: token })
    }
    world.broker.grantNext(before + 1n)
  })

  rule(suite, 'F1', 'a section reads every write of the tokens below its own', async (world) => {
    const key = world.key()
    const inside = new Gate()
    const first = world.run(key, async (handle) => {
      await inside.wait()
      await world.one.query(handle, withdraw)
    })
    await inside.reached
    const second = world.other.fence.run(key, world.options(), async (handle) => {
      const rows = await world.other.query(handle, "SELECT balance FROM account WHERE id = 'a'")
      await world.other.query(
        handle,
        `UPDATE account SET balance = ${Number(rows[0]?.['balance']) - 10} WHERE id = 'a'`,
      )
    })
    await world.until("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
    inside.open()
    await Promise.all([first, second])
    expect(await world.balance()).toBe(80)
    expect(await world.highWater(key)).toBe(world.broker.lastToken)
  })

  rule(
    suite,
    'F5, fault 24',
    'a claim that meets a serialisation failure is tried again, never called stale',
    async (world) => {
      const key = world.key()
      const retries: unknown[] = []
      const stop = world.other.fence.on('retry', ({ of }) => retries.push(of))
      const inside = new Gate()
      const first = world.run(key, () => inside.wait())
      await inside.reached
      const second = world.other.fence.run(key, world.options(), () => 'claimed')
      await world.until(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      )
      inside.open()
      await first
      expect(await second).toBe('claimed')
      stop()
      expect(retries).toEqual(world.level === 'read committed' ? [] : ['claim'])
    },
  )

  rule(suite, 'F2', 'of two first sections on a key, the lower token that comes last is refused', async (world) => {
    const key = world.key()
    const inside = new Gate()
    const late = world.broker.nextToken()
    const first = world.run(key, () => inside.wait())
    await inside.reached
    const options = { isolation: world.level }
    const second = failureOf(world.other.fence.runWith(ticketOf(key, late), options, () => undefined))
    await world.until("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
    inside.open()
    await first
    expect(await second).toMatchObject({ code: 'FENCE_STALE_TOKEN', token: late })
  })
}
