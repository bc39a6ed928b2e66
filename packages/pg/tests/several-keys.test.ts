import { TicketBroker } from '@ticketing/client'
import { StaleTokenError } from '@ticketing/core'
import { startServer } from '@ticketing/server'
import { databaseTargets } from '@ticketing/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ScriptedBroker } from './support/scripted-broker.js'
import { rejection, TestBed } from './support/test-bed.js'

/** Before the emoji by UTF-8 bytes (EF… and F0…), behind it in JavaScript's order of UTF-16 units (FF5E and D83D). */
const fullWidthTilde = '\uff5e'
const emoji = '🔑'

describe.each(databaseTargets())('a section on several keys on $name', (target) => {
  let bed: TestBed
  beforeAll(async () => {
    bed = await TestBed.create(target)
  })
  afterAll(() => bed[Symbol.asyncDispose]())

  it('F8: keys are acquired once each, in the order of their bytes, claimed, and all released', async () => {
    const broker = new ScriptedBroker(100n)
    const fence = bed.fence(broker)
    const given = [emoji, 'b', fullWidthTilde, 'a', 'b', emoji]
    const ordered = ['a', 'b', fullWidthTilde, emoji]
    const seen = await fence.run(given, (_, ticket) => [
      ticket.key,
      ticket.token,
      ticket.keys,
      ordered.map((key) => ticket.tokenOf(key)),
      ticket.tokenOf('c'),
    ])
    expect(seen).toEqual(['a', 101n, ordered, [101n, 102n, 103n, 104n], undefined])
    expect(broker.log).toEqual([...ordered.map((key) => `acquire ${key}`), ...ordered.map((key) => `release ${key}`)])
    for (const [index, key] of ordered.entries()) {
      expect(await bed.fenceRow(key)).toMatchObject({ token: String(101 + index) })
    }
  })

  it('F1, F8: all keys are claimed in the section’s one transaction', async () => {
    const identities = await bed.fence(new ScriptedBroker()).run(['one-1', 'one-2', 'one-3'], async (tx) => {
      const { rows } = await tx.query<{ id: string; attempt: string }>(
        `SELECT DISTINCT xmin::text AS id, encode(attempt, 'hex') AS attempt FROM ticketing_fence
         WHERE lock_key = ANY($1)`,
        [['one-1', 'one-2', 'one-3'].map((key) => Buffer.from(key))],
      )
      const own = await tx.query<{ id: string }>('SELECT pg_current_xact_id_if_assigned()::xid::text AS id')
      return { rows, own: own.rows[0]?.id }
    })
    expect(identities.rows).toHaveLength(1)
    expect(identities.rows[0]?.id).toBe(identities.own)
  })

  it.each([0, 1, 2])('F8: when key number %i is stale, nothing is written for any of them', async (stale) => {
    const keys = [1, 2, 3].map((n) => `stale-${stale}-${n}`)
    const broker = new ScriptedBroker()
    const fence = bed.fence(broker)
    await fence.run(keys, () => undefined)
    const refused = keys[stale] ?? ''
    broker.grantNext(5_000n)
    await fence.run(refused, () => undefined)
    const before = await Promise.all(keys.map((key) => bed.fenceRow(key)))

    broker.grantNext(2_000n)
    let worked = false
    const error = await rejection(
      fence.run(keys, () => {
        worked = true
      }),
    )
    expect(error).toBeInstanceOf(StaleTokenError)
    expect(error).toMatchObject({ key: refused, token: 2_000n + BigInt(stale), highWater: 5_000n })
    expect(worked).toBe(false)
    expect(await Promise.all(keys.map((key) => bed.fenceRow(key)))).toEqual(before)
    expect(broker.log.slice(-3)).toEqual(keys.map((key) => `release ${key}`))
  })

  it('F8: new keys beside a stale one leave no row', async () => {
    const broker = new ScriptedBroker()
    const fence = bed.fence(broker)
    broker.grantNext(9_000n)
    await fence.run('beside-2', () => undefined)
    broker.grantNext(3_000n)
    await rejection(fence.run(['beside-1', 'beside-2', 'beside-3'], () => undefined))
    expect(await bed.fenceRow('beside-1')).toBeUndefined()
    expect(await bed.fenceRow('beside-3')).toBeUndefined()
  })

  it.each([
    ['b, a, a and a, b', ['b', 'a', 'a'], ['a', 'b']],
    ['U+FF5E and an emoji, both ways', [fullWidthTilde, emoji], [emoji, fullWidthTilde]],
  ])('F8: without any lock, sections on %s never deadlock in the database', async (_, left, right) => {
    const broker = new ScriptedBroker(10_000n)
    const fence = bed.fence(broker, {}, bed.pool({ max: 10 }))
    const retries: unknown[] = []
    fence.on('retry', ({ error }) => retries.push(error))
    let done = 0
    const one = async (keys: string[]) => {
      // Nothing excludes these sections from each other, so that later ones often overtake earlier ones.
      const error = await fence
        .run(keys, (tx) => tx.query('SELECT pg_sleep(0.001)'))
        .then(
          () => undefined,
          (error: unknown) => error,
        )
      if (error === undefined) done++
      else expect(error).toBeInstanceOf(StaleTokenError)
    }
    for (let round = 0; round < 20; round++) {
      await Promise.all(Array.from({ length: 10 }, (_, index) => one(index % 2 === 0 ? left : right)))
    }
    expect(retries).toEqual([])
    expect(done).toBeGreaterThanOrEqual(20)
  })

  it('F8: with the lock service, sections on the same keys in any order all succeed', async () => {
    await using server = await startServer({ listen: '127.0.0.1:0' })
    const broker = TicketBroker.connect(server.address)
    try {
      const fence = bed.fence(broker, {}, bed.pool({ max: 10 }))
      const orders = [
        ['x', 'y', 'z', 'x'],
        ['z', 'y'],
        ['y', 'x'],
        [emoji, fullWidthTilde, 'z'],
        [fullWidthTilde, emoji],
      ]
      const sections = Array.from({ length: 50 }, (_, index) =>
        fence.run(orders[index % orders.length] ?? [], { wait: 20 }, (tx) => tx.query('SELECT 1')),
      )
      await Promise.all(sections)
    } finally {
      await broker.close()
    }
  })

  it('F8: a key that is not obtained gives the others back, and no connection was taken', async () => {
    const inner = new ScriptedBroker()
    const refusal = new Error('not obtained')
    const pool = bed.pool()
    const broker = {
      acquire: async (key: string, options: Parameters<ScriptedBroker['acquire']>[1]) => {
        if (key === 'not-3') throw refusal
        return await inner.acquire(key, options)
      },
    }
    const error = await rejection(bed.fence(broker, {}, pool).run(['not-3', 'not-2', 'not-1'], () => undefined))
    expect(error).toBe(refusal)
    expect(inner.log).toEqual(['acquire not-1', 'acquire not-2', 'release not-1', 'release not-2'])
    expect(pool.totalCount).toBe(0)
  })

  it('F8: one wait covers all keys, and the least of their leases is what remains', async () => {
    const inner = new ScriptedBroker()
    // The first key takes 1.1 s of the 3 s; a wait is whole seconds, rounded up.
    const broker = {
      acquire: async (key: string, options: Parameters<ScriptedBroker['acquire']>[1]) => {
        inner.leaseSeconds = key === 'wait-1' ? 30 : 6
        const ticket = await inner.acquire(key, options)
        if (key === 'wait-1') await new Promise((resolve) => setTimeout(resolve, 1_100))
        return ticket
      },
    }
    const remaining = await bed
      .fence(broker)
      .run(['wait-2', 'wait-1'], { wait: 3, lease: 30 }, (_, ticket) => ticket.remaining())
    expect(inner.acquired.map(({ key, options }) => [key, options.wait])).toEqual([
      ['wait-1', 3],
      ['wait-2', 2],
    ])
    expect(remaining).toBeLessThanOrEqual(6)
    expect(remaining).toBeGreaterThan(5)
  })
})
