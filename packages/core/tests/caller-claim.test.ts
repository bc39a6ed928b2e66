import { TicketError } from '@ticketing/client'
import { describe, expect, test } from 'vitest'
import { DatabaseError, FakeConnection } from './support/fake-database.js'
import { rejection } from './support/gate.js'
import { hostKinds } from './support/recording-host.js'
import { defaults, identityCheck, sectionWorld } from './support/section-world.js'

describe.each(hostKinds)('a claim in the caller’s own transaction: $shape, $evidence', (kind) => {
  async function callerWorld() {
    const world = sectionWorld(kind)
    const ticket = await world.broker.acquire('a', defaults)
    const transaction = new FakeConnection(world.database)
    await transaction.begin()
    world.journal.length = 0
    return { ...world, ticket, transaction }
  }

  test('F1: it moves the high-water with the caller’s own COMMIT, and does nothing else', async () => {
    const { fence, ticket, transaction, database, journal } = await callerWorld()
    expect(await fence.claim(transaction, ticket)).toBeUndefined()
    expect(database.highWaters.get('a')).toBeUndefined()
    await transaction.userQuery('UPDATE one')
    await transaction.end('COMMIT')
    expect(database.highWaters.get('a')).toBe(ticket.token)
    expect(journal).toEqual(['claim a', ...identityCheck(kind), 'UPDATE one', 'COMMIT'])
  })

  test('F4: the claim bounds the caller’s transaction by what remains of the lease', async () => {
    const { fence, ticket, transaction, host, time } = await callerWorld()
    time.advance(4_000)
    await fence.claim(transaction, ticket)
    expect(host.claims[0]?.bounds).toEqual({ transactionMilliseconds: 6_000, claimMilliseconds: 5_500 })
  })

  test('F2: a refusal aborts the transaction, so that a caller who swallows it commits nothing', async () => {
    const { fence, ticket, transaction, database } = await callerWorld()
    database.highWaters.set('a', ticket.token + 5n)
    expect(await rejection(fence.claim(transaction, ticket))).toMatchObject({
      code: 'FENCE_STALE_TOKEN',
      token: ticket.token,
      highWater: ticket.token + 5n,
    })
    await transaction.userQuery('UPDATE one').catch(() => undefined)
    await transaction.end('COMMIT')
    expect(database.committed).toEqual([])
    expect(database.highWaters.get('a')).toBe(ticket.token + 5n)
  })

  test('F8: with several tickets, one that is refused refuses all', async () => {
    const { fence, broker, ticket, transaction, database } = await callerWorld()
    const other = await broker.acquire('b', defaults)
    database.highWaters.set('b', other.token)
    expect(await rejection(fence.claim(transaction, [other, ticket]))).toMatchObject({ key: 'b' })
    await transaction.end('COMMIT')
    expect(database.highWaters.get('a')).toBeUndefined()
  })

  test('F1: a connection without a transaction is refused', async () => {
    const { fence, ticket, database } = await callerWorld()
    const error = await rejection(fence.claim(new FakeConnection(database), ticket))
    expect(error).toMatchObject({ code: 'FENCE_INVALID_ARGUMENT', outcome: 'not-executed' })
    expect((error as Error).message).toMatch(/^transaction: /)
    if (kind.evidence === 'identity') expect((error as Error).message).toContain('this ticket is used up')
  })

  test('F3: a lease that is over, or shorter than the minimum work of the defaults, claims nothing', async () => {
    const { fence, ticket, transaction, time, journal } = await callerWorld()
    time.advance(9_000)
    expect(await rejection(fence.claim(transaction, ticket))).toMatchObject({ code: 'FENCE_LEASE_TOO_SHORT' })
    time.advance(1_000)
    expect(await rejection(fence.claim(transaction, ticket))).toMatchObject({ code: 'FENCE_LEASE_EXPIRED' })
    expect(journal).toEqual([])
  })

  test('F4: a claim that waits for its row until its bound is blocked, not stale', async () => {
    const { fence, ticket, transaction, database } = await callerWorld()
    database.at('claim a', () => Promise.reject(new DatabaseError('55P03')))
    expect(await rejection(fence.claim(transaction, ticket))).toMatchObject({ code: 'FENCE_BLOCKED' })
  })

  test('F5: a serialisation failure stays the driver’s own error, since the transaction is the caller’s', async () => {
    const { fence, ticket, transaction, database } = await callerWorld()
    const failure = new DatabaseError('40001')
    database.at('claim a', () => Promise.reject(failure))
    expect(await rejection(fence.claim(transaction, ticket))).toBe(failure)
  })

  test('F9: it is refused inside a section of the same fence', async () => {
    const { fence, ticket, transaction, journal } = await callerWorld()
    const error = await rejection(fence.run('b', () => fence.claim(transaction, ticket)))
    expect(error).toMatchObject({ code: 'FENCE_NESTED' })
    expect(journal).not.toContain('claim a')
  })

  test('F10: the ticket stays the caller’s, released or not', async () => {
    const { fence, ticket, transaction, broker, journal } = await callerWorld()
    broker.onRelease = () => Promise.reject(new TicketError('TICKET_RELEASE_UNCONFIRMED', 'unknown', 'No answer.'))
    await fence.claim(transaction, ticket)
    await transaction.end('COMMIT')
    expect(journal).not.toContain('release a')
  })
})
