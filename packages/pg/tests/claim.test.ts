import { StaleTokenError } from '@ticketing/core'
import { databaseTargets } from '@ticketing/testing/vitest'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { ScriptedBroker } from './support/scripted-broker.js'
import { gate, untilBlocked } from './support/server-view.js'
import { rejection, TestBed } from './support/test-bed.js'
import { WireLog } from './support/wire-log.js'

const putBalance =
  'INSERT INTO account VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET balance = excluded.balance RETURNING balance'

describe.each(databaseTargets())('the claim on $name', (target) => {
  let bed: TestBed
  beforeAll(async () => {
    bed = await TestBed.create(target)
  })
  afterAll(() => bed[Symbol.asyncDispose]())

  it('F1, F2: accepts a newer token, refuses an equal and a lower one, and then nothing is written', async () => {
    const broker = new ScriptedBroker()
    const fence = bed.fence(broker)
    const put = (token: bigint, balance: number) => {
      broker.grantNext(token)
      return fence.run('put', (tx) => tx.query(putBalance, ['put', balance]))
    }
    await put(50n, 1)
    await put(51n, 2)
    const accepted = await bed.fenceRow('put')
    for (const token of [51n, 50n, 1n]) {
      const error = await rejection(put(token, 3))
      expect(error).toBeInstanceOf(StaleTokenError)
      expect(error).toMatchObject({ code: 'FENCE_STALE_TOKEN', outcome: 'not-executed', key: 'put', highWater: 51n })
      expect(error).toHaveProperty('token', token)
      expect((error as Error).message).toContain(`its token ${token} is not above the stored high-water 51`)
      expect(await bed.balance('put')).toBe('2')
      expect(await bed.fenceRow('put')).toEqual(accepted)
    }
    await put(52n, 4)
    expect(await bed.balance('put')).toBe('4')
  })

  it('F2: the work of a refused ticket never starts, and its ticket is released', async () => {
    const broker = new ScriptedBroker(10n)
    const fence = bed.fence(broker)
    await fence.run('refused', () => undefined)
    broker.grantNext(11n)
    const work = vi.fn()
    await rejection(fence.run('refused', work))
    expect(work).not.toHaveBeenCalled()
    expect(broker.log.slice(-2)).toEqual(['acquire refused', 'release refused'])
  })

  it('F7: the floor refuses every token at or below it, whether or not the key has a row', async () => {
    await using own = await TestBed.create(target)
    const broker = new ScriptedBroker()
    const fence = own.fence(broker)
    const run = (key: string, token: bigint) => {
      broker.grantNext(token)
      return fence.run(key, (tx) => tx.query(putBalance, [key, 1]))
    }
    await run('row', 100n)
    await own.admin.query('UPDATE ticketing_fence_floor SET floor = 5000')
    for (const key of ['row', 'no-row']) {
      for (const token of [4999n, 5000n]) {
        const error = await rejection(run(key, token))
        expect(error).toBeInstanceOf(StaleTokenError)
        expect(error).toMatchObject({ key, token, highWater: 5000n })
      }
    }
    expect(await own.fenceRow('no-row')).toBeUndefined()
    expect(await own.balance('no-row')).toBeUndefined()
    expect(await own.fenceRow('row')).toMatchObject({ token: '100' })
    await run('row', 5001n)
    await run('no-row', 5001n)
    expect(await own.fenceRow('no-row')).toMatchObject({ token: '5001' })
  })

  it('F1: BEGIN and the claim go out first, under one Sync, and nothing else before the work', async () => {
    const wire = new WireLog()
    const pool = bed.pool({ max: 1, stream: wire.stream })
    const fence = bed.fence(new ScriptedBroker(), {}, pool)
    await pool.query('SELECT 1')
    let atWork: unknown
    wire.clear()
    await fence.run('first', { isolation: 'repeatable read' }, () => {
      atWork = { types: wire.types, parsed: wire.messages.filter(({ type }) => type === 'P').map(({ text }) => text) }
    })
    expect(atWork).toEqual({
      types: 'PBDEPBDES',
      parsed: ['BEGIN ISOLATION LEVEL REPEATABLE READ', expect.stringMatching(/ INSERT INTO "ticketing_fence" /)],
    })
    expect(wire.messages.at(-1)).toEqual({ type: 'Q', text: 'COMMIT' })

    wire.clear()
    await fence.run('first', () => undefined)
    // The claim is a prepared statement by now, so that only BEGIN is parsed.
    expect(wire.types).toBe('PBDEBDESQ')
    expect(wire.messages[0]).toEqual({ type: 'P', text: 'BEGIN' })
  })

  it.each([undefined, 'read committed', 'repeatable read', 'serializable'] as const)(
    'F1: at isolation %s a section that waited for a lower token reads everything that it wrote',
    async (isolation) => {
      const key = `isolation ${isolation}`.replaceAll(' ', '-')
      const fence = bed.fence(new ScriptedBroker())
      const lowerMayEnd = gate()
      let lowerEnds = ''
      const claimed = gate()
      const lower = fence.run(key, { isolation }, async (tx) => {
        claimed.open()
        await lowerMayEnd.opened
        await tx.query(putBalance, [key, 7])
        lowerEnds = (await tx.query<{ t: string }>('SELECT clock_timestamp()::text AS t')).rows[0]?.t ?? ''
      })
      await claimed.opened
      const higher = fence.run(key, { isolation }, async (tx) => {
        const { rows } = await tx.query<{ balance: string }>('SELECT balance FROM account WHERE id = $1', [key])
        return rows
      })
      await untilBlocked(bed.admin)
      lowerMayEnd.open()
      await lower
      expect(await higher).toEqual([{ balance: '7' }])
      const { rows } = await bed.admin.query<{ later: boolean }>(
        'SELECT claimed_at > $2::timestamptz AS later FROM ticketing_fence WHERE lock_key = $1',
        [Buffer.from(key), lowerEnds],
      )
      expect(rows).toEqual([{ later: true }])
    },
  )

  it('F1, F15: a claim whose section was cancelled meanwhile sends nothing behind its ROLLBACK', async () => {
    const wire = new WireLog()
    const pool = bed.pool({ max: 1, stream: wire.stream })
    const fence = bed.fence(new ScriptedBroker(), {}, pool)
    await fence.run('cancelled', () => undefined)
    const other = await bed.client()
    await other.query('BEGIN')
    await other.query('UPDATE ticketing_fence SET token = 9000 WHERE lock_key = $1', [Buffer.from('cancelled')])
    const cancel = new AbortController()
    const section = rejection(fence.run('cancelled', { signal: cancel.signal }, () => undefined))
    await untilBlocked(bed.admin)
    const reason = new Error('no longer wanted')
    cancel.abort(reason)
    // Now the claim is refused; to tell why, it would read the row, on a connection that may be another's by then.
    await other.query('COMMIT')
    expect(await section).toBe(reason)
    await pool.query('SELECT 1')
    expect(wire.messages.slice(-2)).toEqual([
      { type: 'Q', text: 'ROLLBACK' },
      { type: 'Q', text: 'SELECT 1' },
    ])
  })

  it('F6, F7: keeps the attempt, the previous token and attempt, and when it was claimed by the database’s clock', async () => {
    const broker = new ScriptedBroker()
    const fence = bed.fence(broker)
    const run = async (token: bigint) => {
      broker.grantNext(token)
      await fence.run('columns', () => undefined)
      return await bed.fenceRow('columns')
    }
    const databaseClock = async () =>
      (await bed.admin.query<{ t: string }>('SELECT clock_timestamp()::text AS t')).rows[0]?.t ?? ''
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2001-02-03') })
    try {
      const before = await databaseClock()
      const first = await run(21n)
      const second = await run(33n)
      const after = await databaseClock()
      expect(first).toMatchObject({ token: '21', previousToken: null, previousAttempt: null })
      expect(first?.attempt).toMatch(/^[0-9a-f]{32}$/)
      expect(second).toMatchObject({ token: '33', previousToken: '21', previousAttempt: first?.attempt })
      expect(second?.attempt).toMatch(/^[0-9a-f]{32}$/)
      expect(second?.attempt).not.toBe(first?.attempt)
      const { rows } = await bed.admin.query<{ ordered: boolean }>(
        'SELECT $1::timestamptz < $2::timestamptz AND $2 < $3::timestamptz AND $3 < $4::timestamptz AS ordered',
        [before, first?.claimedAt, second?.claimedAt, after],
      )
      expect(rows).toEqual([{ ordered: true }])
    } finally {
      vi.useRealTimers()
    }
  })

  it('F1: keys differ when their bytes differ', async () => {
    const broker = new ScriptedBroker()
    const fence = bed.fence(broker)
    const longest = '🔑'.repeat(32)
    const keys = [
      'byte-a',
      'byte-A',
      'é',
      'e\u0301',
      '🔑',
      '🔒',
      '\uff5e',
      longest,
      `${'x'.repeat(127)}y`,
      'x'.repeat(128),
    ]
    expect(Buffer.byteLength(longest)).toBe(128)
    for (const [index, key] of keys.entries()) {
      // Each token is lower than the one before, so that a key taken for another one would be refused.
      broker.grantNext(BigInt(900 - index))
      await fence.run(key, () => undefined)
    }
    for (const [index, key] of keys.entries()) {
      expect(await bed.fenceRow(key)).toMatchObject({ token: String(900 - index), previousToken: null })
    }
  })

  it.each([
    ['9 and 10', 9n, 10n],
    ['99 and 100', 99n, 100n],
    ['2^53', 2n ** 53n, 2n ** 53n + 1n],
    ['2^62', 2n ** 62n - 1n, 2n ** 62n],
    ['2^63−1', 2n ** 63n - 2n, 2n ** 63n - 1n],
  ])('F11, fault 25: tells neighbouring tokens apart at %s', async (_, lower, higher) => {
    // A user's own type parser makes numbers of bigints; the fence must not be touched by it.
    const numbers = bed.pool({ types: { getTypeParser: () => Number } })
    for (const pool of [undefined, numbers]) {
      const key = `neighbours-${lower}-${pool === undefined}`
      const broker = new ScriptedBroker()
      const fence = bed.fence(broker, {}, pool)
      const run = (token: bigint) => {
        broker.grantNext(token)
        return fence.run(key, (_, ticket) => ticket.token)
      }
      expect(await run(lower)).toBe(lower)
      expect(await run(higher)).toBe(higher)
      expect(await bed.fenceRow(key)).toMatchObject({ token: String(higher), previousToken: String(lower) })
      expect(await rejection(run(lower))).toMatchObject({ token: lower, highWater: higher })
      expect(await rejection(run(higher))).toMatchObject({ token: higher, highWater: higher })
    }
  })
})
