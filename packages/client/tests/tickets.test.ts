import type { TicketError } from '@ticketing/client'
import { describe, expect, test } from 'vitest'
import { brokerOn } from './support/brokers.js'
import { type Script, ScriptedServer } from './support/scripted-server.js'
import { settle, until } from './support/until.js'

const short = { wait: 20, lease: 10, minWork: 1 } as const
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as TicketError,
  )

const grants: Script = { onFrame: (frame, session) => frame.type === 'acquire' && session.grant(frame, 7n) }

async function connected(script: Script = {}) {
  const server = await ScriptedServer.listen(script)
  const { broker, clock } = brokerOn(server.address)
  await broker.waitReady(1)
  return { server, broker, clock, session: await server.session(0) }
}

/** Lets time pass in small steps, each with its pings answered, as on a real network. */
async function wait(milliseconds: number, clock: { advance(by: number): void }): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 100) {
    clock.advance(100)
    await settle(5)
  }
}

describe('tickets', () => {
  test('C9: a lease of 1 s that was won after a wait of 10 s is usable with more than 0.5 s left', async () => {
    const { broker, clock, session } = await connected()
    const acquire = broker.acquire('k', { wait: 20, lease: 1, minWork: 0 })
    const frame = await session.acquire()
    await wait(10_000, clock)
    session.grant(frame, 7n)
    const ticket = await acquire
    expect(ticket.remaining()).toBeGreaterThan(0.5)
    expect(ticket.remaining()).toBeLessThanOrEqual(1)
  })

  test('C9: without pongs the wait counts as spent lease, and such a grant is given back', async () => {
    const { broker, clock, session } = await connected({ answersPings: false })
    const acquire = failure(broker.acquire('k', { wait: 20, lease: 1, minWork: 0 }))
    const frame = await session.acquire()
    await wait(10_000, clock)
    session.grant(frame, 7n)
    expect(await acquire).toMatchObject({ code: 'TICKET_LEASE_TOO_SHORT', outcome: 'not-executed' })
    expect(await session.release()).toEqual({ type: 'release', token: 7n, key: 'k' })
  })

  test('C9: a grant with less than the minimum work left is given back by its exact token', async () => {
    const { broker, clock, session } = await connected({ answersPings: false })
    const [enough, short_] = [
      broker.acquire('a', { ...short, minWork: 8 }),
      failure(broker.acquire('b', { ...short, minWork: 9 })),
    ]
    const frames = [await session.acquire(0), await session.acquire(1)] as const
    clock.advance(1_500)
    session.grant(frames[0], 7n)
    session.grant(frames[1], 8n)
    expect((await enough).remaining()).toBe(8.5)
    const error = await short_
    expect(error).toMatchObject({ code: 'TICKET_LEASE_TOO_SHORT' })
    expect(error?.message).toContain('8.500 s of the lease of 10 s')
    expect(error?.message).toContain('minWork of 9 s')
    expect(await session.release()).toEqual({ type: 'release', token: 8n, key: 'b' })
  })

  test('C9: a minimum work equal to the lease is allowed, and the error says that it can hardly be met', async () => {
    const { broker, clock, session } = await connected()
    const acquire = failure(broker.acquire('k', { wait: 1, lease: 10, minWork: 10 }))
    const frame = await session.acquire()
    clock.advance(1)
    session.grant(frame, 7n)
    expect((await acquire)?.message).toContain('can hardly ever be met')
  })

  test('C9: the time for which an A lies unread only shortens what is left', async () => {
    const { broker, clock, session } = await connected()
    const acquire = broker.acquire('k', short)
    session.grant(await session.acquire(), 7n)
    clock.stall(3_000)
    expect((await acquire).remaining()).toBe(7)
  })

  test('C9: the lease counts from before the bytes of the acquire leave', async () => {
    const { broker, clock } = await connected(grants)
    const acquire = broker.acquire('k', short)
    clock.stall(2_000) // before the microtask that writes
    expect((await acquire).remaining()).toBe(8)
  })

  test('C9: the signal aborts when the conservative lease ends, not before', async () => {
    const { broker, clock } = await connected(grants)
    const ticket = await broker.acquire('k', short)
    const { signal } = ticket
    expect(ticket.signal).toBe(signal)
    clock.advance(9_999)
    expect([signal.aborted, ticket.remaining()]).toEqual([false, 0.001])
    clock.advance(1)
    expect([signal.aborted, ticket.remaining()]).toEqual([true, 0])
    expect(signal.reason).toMatchObject({ code: 'TICKET_LEASE_OVER' })
    clock.advance(5_000)
    expect(ticket.remaining()).toBe(0)
  })

  test('C9: a suspend or a step of the wall clock is noticed within a second', async () => {
    const { broker, clock } = await connected(grants)
    const ticket = await broker.acquire('k', short)
    expect(ticket.signal.aborted).toBe(false)
    clock.moveWall(60_000)
    expect(ticket.remaining()).toBe(0)
    clock.advance(1_000)
    expect(ticket.signal.aborted).toBe(true)
  })

  test('C9: a wall clock that is set back gives nothing', async () => {
    const { broker, clock } = await connected(grants)
    const ticket = await broker.acquire('k', short)
    clock.moveWall(-3_600_000)
    clock.advance(4_000)
    expect(ticket.remaining()).toBe(6)
    expect(ticket.signal.aborted).toBe(false)
    clock.advance(6_000)
    expect(ticket.signal.aborted).toBe(true)
  })

  test('C9: a signal first asked for after the lease has aborted already', async () => {
    const { broker, clock } = await connected(grants)
    const ticket = await broker.acquire('k', short)
    clock.advance(10_000)
    expect(ticket.signal.aborted).toBe(true)
  })

  test('C9: a release leaves nothing of the lease, does not abort the signal, and ends its timer', async () => {
    const { broker, clock, session } = await connected(grants)
    const ticket = await broker.acquire('k', short)
    const before = clock.pendingTimers
    const { signal } = ticket
    expect(clock.pendingTimers).toBe(before + 1)
    const released = ticket.release()
    expect(ticket.remaining()).toBe(0)
    await session.release()
    session.send({ type: 'released', token: 7n, key: 'k' })
    await released
    const late = (await broker.acquire('other', short)).signal
    clock.advance(20_000)
    expect([signal.aborted, late.aborted]).toEqual([false, true])
  })

  test('C9: a signal first asked for after the release never aborts', async () => {
    const { broker, clock, session } = await connected(grants)
    const ticket = await broker.acquire('k', short)
    const released = ticket.release()
    await session.release()
    session.send({ type: 'released', token: 7n, key: 'k' })
    await released
    const { signal } = ticket
    clock.advance(20_000)
    expect(signal.aborted).toBe(false)
  })

  test('C9: while something waits pings go every fifth of the shortest lease, else every 2 s', async () => {
    const { broker, clock, session } = await connected()
    const before = session.pings
    await wait(10_000, clock)
    expect(session.pings - before).toBe(5)
    const acquire = broker.acquire('k', { wait: 20, lease: 2, minWork: 0 })
    const frame = await session.acquire()
    const sent = session.pings
    await wait(4_000, clock)
    expect(session.pings - sent).toBe(10)
    session.grant(frame, 7n)
    await acquire
    await until(() => !session.hasEnded)
  })
})
