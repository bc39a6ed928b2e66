import { TicketError } from '@ticketing/client'
import { describe, expect, test } from 'vitest'
import { rejection } from './support/gate.js'
import { hostKinds } from './support/recording-host.js'
import { sectionWorld } from './support/section-world.js'

const fullwidth = '\uFF5E' // EF BD 9E in UTF-8, one unit above the surrogates in UTF-16
const emoji = '\u{1F600}' // F0 9F 98 80 in UTF-8, surrogates in UTF-16

describe.each(hostKinds)('$shape, $evidence', (kind) => {
  test('F8: keys are deduplicated, then acquired and claimed in the order of their bytes, in one transaction', async () => {
    const { fence, journal, host } = sectionWorld(kind)
    const keys = Object.freeze([emoji, 'b', fullwidth, 'a', 'b', emoji])
    expect([...keys].sort().at(-1)).toBe(fullwidth) // JavaScript's own order is the other one

    const seen = await fence.run(keys, (_tx, ticket) => ({
      keys: ticket.keys,
      key: ticket.key,
      token: ticket.token,
      tokens: [...ticket.keys, 'c'].map((key) => ticket.tokenOf(key)),
    }))

    const ordered = ['a', 'b', fullwidth, emoji]
    expect(seen).toEqual({ keys: ordered, key: 'a', token: 101n, tokens: [101n, 102n, 103n, 104n, undefined] })
    expect(journal.slice(0, 4)).toEqual(ordered.map((key) => `acquire ${key}`))
    expect(journal.slice(-4)).toEqual(ordered.map((key) => `release ${key}`))
    expect(journal.filter((step) => step.startsWith('claim'))).toEqual([`claim ${ordered.join(' ')}`])
    expect(host.claims[0]?.claims.map(({ token }) => token)).toEqual([101n, 102n, 103n, 104n])
  })

  test('F8: all keys share one total wait; what is left of it is rounded up to whole seconds', async () => {
    const { fence, broker, time } = sectionWorld(kind)
    broker.onAcquire = () => time.stall(1_500)
    await fence.run(['a', 'b', 'c', 'd', 'e', 'f'], { minWork: 0 }, () => undefined)
    // 5, 3.5, 2, 0.5, then nothing is left
    expect(broker.acquires.map(({ options }) => options.wait)).toEqual([5, 4, 2, 1, 0, 0])
    expect(broker.acquires.map(({ options }) => options.lease)).toEqual(Array(6).fill(10))
  })

  test('F8: where a later key is refused, the earlier ones are released, and no connection is taken', async () => {
    const { fence, broker, journal } = sectionWorld(kind)
    const refusal = new TicketError('TICKET_TIMEOUT', 'not-executed', 'The wait is over.')
    broker.onAcquire = (key) => {
      if (key === 'c') throw refusal
    }
    expect(await rejection(fence.run(['c', 'b', 'a'], () => undefined))).toBe(refusal)
    expect(journal).toEqual(['acquire a', 'acquire b', 'acquire c', 'release a', 'release b'])
  })

  test.each(['a', 'b'])(
    'F8: the remaining time is the least over the tickets, and the signal aborts with the first lease: of %s',
    async (shorter) => {
      const { fence, broker, time } = sectionWorld(kind)
      broker.leaseSeconds.set(shorter, 7)
      const seen = await fence.run(['a', 'b'], (_tx, ticket) => ({ left: ticket.remaining(), signal: ticket.signal }))
      expect(seen.left).toBe(7)
      time.advance(6_999)
      expect(seen.signal.aborted).toBe(false)
      time.advance(1)
      expect(seen.signal.aborted).toBe(true)
    },
  )

  test('F8: the minimum work is checked against the least remaining time after the last key, before a connection', async () => {
    const { fence, broker, time, journal } = sectionWorld(kind)
    broker.onAcquire = (key) => {
      if (key === 'b') time.advance(8_500)
    }
    expect(await rejection(fence.run(['a', 'b'], () => undefined))).toMatchObject({
      code: 'FENCE_LEASE_TOO_SHORT',
      outcome: 'not-executed',
    })
    expect(journal).toEqual(['acquire a', 'acquire b', 'release a', 'release b'])
  })

  test('F8: a lease of an earlier key that ended meanwhile refuses the section', async () => {
    const { fence, broker, time, journal } = sectionWorld(kind)
    broker.onAcquire = (key) => {
      if (key === 'b') time.advance(10_000)
    }
    expect(await rejection(fence.run(['a', 'b'], () => undefined))).toMatchObject({ code: 'FENCE_LEASE_EXPIRED' })
    expect(journal).toEqual(['acquire a', 'acquire b', 'release a', 'release b'])
  })

  test.each([
    ['a', 101n],
    ['b', 102n],
    ['c', 103n],
  ])('F8: fewer claimed rows than keys is a refusal that names the stale key: %s', async (key, token) => {
    const { fence, database, journal } = sectionWorld(kind)
    database.highWaters.set(key, 900n)
    const error = await rejection(fence.run(['c', 'b', 'a'], (tx) => tx.query('UPDATE one')))
    expect(error).toMatchObject({ code: 'FENCE_STALE_TOKEN', key, token, highWater: 900n })
    expect(journal).not.toContain('UPDATE one')
    expect(journal.slice(-5)).toEqual(['ROLLBACK', 'give back', 'release a', 'release b', 'release c'])
    expect(database.highWaters).toEqual(new Map([[key, 900n]]))
  })
})
