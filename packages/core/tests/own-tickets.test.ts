import type { Ticket } from '@ticketing/client'
import { describe, expect, test } from 'vitest'
import { rejection } from './support/gate.js'
import { type HostKind, hostKinds } from './support/recording-host.js'
import { defaults, identityCheck, sectionWorld } from './support/section-world.js'

const [kind] = hostKinds as [HostKind]

async function worldWithTickets(...keys: string[]) {
  const world = sectionWorld(kind)
  const tickets = await Promise.all(keys.map((key) => world.broker.acquire(key, defaults)))
  world.journal.length = 0
  return { ...world, tickets, ticket: tickets[0] as Ticket }
}

describe.each(hostKinds)('$shape, $evidence', (kind) => {
  test('F1: a section with the caller’s own ticket neither acquires nor releases', async () => {
    const { fence, broker, journal } = sectionWorld(kind)
    const ticket = await broker.acquire('a', defaults)
    journal.length = 0
    const result = await fence.runWith(ticket, async (tx, seen) => {
      await tx.query('UPDATE one')
      return [seen.key, seen.token]
    })
    expect(result).toEqual(['a', ticket.token])
    expect(journal).toEqual([
      'connect',
      'BEGIN',
      'claim a',
      'UPDATE one',
      'handle ends',
      ...identityCheck(kind),
      'COMMIT',
      'give back',
    ])
  })
})

describe('a section with tickets of the caller', () => {
  test('F8: several tickets are claimed in byte order, whatever order they are given in', async () => {
    const { fence, tickets, journal, database } = await worldWithTickets('b', 'a')
    await fence.runWith(tickets, (_tx, { keys }) => expect(keys).toEqual(['a', 'b']))
    expect(journal).toContain('claim a b')
    expect(Object.fromEntries(database.highWaters)).toEqual({ a: tickets[1]?.token, b: tickets[0]?.token })
  })

  test('F2: a ticket commits one section; the refusal of a second says so', async () => {
    const { fence, ticket } = await worldWithTickets('a')
    await fence.runWith(ticket, () => undefined)
    const error = await rejection(fence.runWith(ticket, () => undefined))
    expect(error).toMatchObject({ code: 'FENCE_STALE_TOKEN', token: ticket.token, highWater: ticket.token })
    expect((error as Error).message).toContain('this very ticket has already committed a section')
  })

  test('F1: a ticket whose section rolled back can be used again', async () => {
    const { fence, ticket, database } = await worldWithTickets('a')
    const failure = new Error('not yet')
    expect(await rejection(fence.runWith(ticket, () => Promise.reject(failure)))).toBe(failure)
    await fence.runWith(ticket, (tx) => tx.query('UPDATE one'))
    expect(database.committed).toEqual(['UPDATE one'])
  })

  test('F3: the minimum work comes from the call, else from the defaults', async () => {
    const { fence, ticket, time } = await worldWithTickets('a')
    time.advance(8_500)
    expect(await rejection(fence.runWith(ticket, () => undefined))).toMatchObject({ code: 'FENCE_LEASE_TOO_SHORT' })
    expect(await fence.runWith(ticket, { minWork: 1 }, () => 'enough')).toBe('enough')
  })

  test('F1: a ticket whose lease is over begins nothing', async () => {
    const { fence, ticket, time, journal } = await worldWithTickets('a')
    time.advance(10_000)
    expect(await rejection(fence.runWith(ticket, () => undefined))).toMatchObject({ code: 'FENCE_LEASE_EXPIRED' })
    expect(journal).toEqual([])
  })

  test('F9: it is refused inside a section of the same fence, and refuses one inside it', async () => {
    const { fence, ticket } = await worldWithTickets('a')
    const inside = await rejection(fence.run('b', () => fence.runWith(ticket, () => undefined)))
    const around = await rejection(fence.runWith(ticket, () => fence.run('b', () => undefined)))
    for (const error of [inside, around]) expect(error).toMatchObject({ code: 'FENCE_NESTED' })
  })

  test.each<[string, (ticket: Ticket) => unknown]>([
    ['nothing', () => undefined],
    ['no tickets', () => []],
    ['too many tickets', (ticket) => Array.from({ length: 65 }, (_, n) => ({ ...ticket, key: `k${n}` }))],
    ['a key', () => 'a'],
    ['two tickets for one key', (ticket) => [ticket, { ...ticket, token: ticket.token + 1n }]],
    ['a token that is a number', (ticket) => ({ ...ticket, token: 7 })],
    ['a token of 0', (ticket) => ({ ...ticket, token: 0n })],
    ['a token of 2^63', (ticket) => ({ ...ticket, token: 2n ** 63n })],
    ['a ticket without a signal', (ticket) => ({ ...ticket, signal: undefined })],
    ['a ticket without its remaining time', (ticket) => ({ ...ticket, remaining: undefined })],
    ['a ticket of a bad key', (ticket) => ({ ...ticket, key: 'a b' })],
  ])('F1: %s in place of a ticket is refused before anything is sent', async (_what, make) => {
    const { fence, ticket, journal } = await worldWithTickets('a')
    const given = make(ticket) as Ticket
    for (const promise of [fence.runWith(given, () => undefined), fence.claim({} as never, given)]) {
      const error = await rejection(promise)
      expect(error).toMatchObject({ code: 'FENCE_INVALID_ARGUMENT', outcome: 'not-executed' })
      expect((error as Error).message).toMatch(/^ticket: .* Nothing was sent/)
    }
    expect(journal).toEqual([])
  })

  test.each([
    ['wait', { wait: 1 }],
    ['lease', { lease: 1 }],
    ['retries', { retries: -1 }],
    ['minWork', { minWork: 251 }],
    ['isolation', { isolation: 'snapshot' }],
  ])('F1: a bad option (%s) is refused before anything is sent', async (name, options) => {
    const { fence, ticket, journal } = await worldWithTickets('a')
    const error = await rejection(fence.runWith(ticket, options as object, () => undefined))
    expect(error).toMatchObject({ code: 'FENCE_INVALID_ARGUMENT' })
    expect((error as Error).message).toContain(name)
    expect(journal).toEqual([])
  })

  test('F1: runWith without work is refused', async () => {
    const { fence, ticket } = await worldWithTickets('a')
    const error = await rejection(fence.runWith(ticket, {}, undefined as never))
    expect((error as Error).message).toContain('the last argument of runWith')
  })
})
