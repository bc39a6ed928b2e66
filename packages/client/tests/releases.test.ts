import type { TicketError } from '@ticketing/client'
import { describe, expect, test } from 'vitest'
import { brokerOn, stateOf } from './support/brokers.js'
import { type Script, ScriptedServer, type ScriptedSession } from './support/scripted-server.js'
import { settle, until } from './support/until.js'

const short = { wait: 5, lease: 30, minWork: 1 } as const
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as TicketError,
  )

/** Grants every acquire the token 7 and answers no release. */
const grantsOnly: Script = {
  onFrame: (frame, session) => frame.type === 'acquire' && session.grant(frame, 7n),
}

async function holding(script: Script = grantsOnly) {
  const server = await ScriptedServer.listen(script)
  const { broker, clock } = brokerOn(server.address)
  const ticket = await broker.acquire('k', short)
  const session = await server.session(0)
  return { server, broker, clock, ticket, session }
}

const answer = (session: ScriptedSession, type: 'released' | 'not-current') =>
  session.send({ type, token: 7n, key: 'k' })

describe('releases', () => {
  test('C2, C11: two calls at once and the automatic close send one frame and share its result', async () => {
    const { ticket, session } = await holding()
    const [a, b, closed] = [ticket.release(), ticket.release(), ticket[Symbol.asyncDispose]()]
    expect(await session.release()).toEqual({ type: 'release', token: 7n, key: 'k' })
    answer(session, 'released')
    expect(await Promise.all([a, b, closed])).toEqual(['released', 'released', undefined])
    await settle()
    expect(session.releases).toHaveLength(1)
  })

  test('C11: a settled release gives its result again without a frame', async () => {
    const { ticket, session } = await holding()
    const first = ticket.release()
    await session.release()
    answer(session, 'released')
    expect(await first).toBe('released')
    expect(await ticket.release()).toBe('released')
    await ticket[Symbol.asyncDispose]()
    await settle()
    expect(session.releases).toHaveLength(1)
  })

  test('C4: N is a value', async () => {
    const { ticket, session } = await holding()
    const released = ticket.release()
    await session.release()
    answer(session, 'not-current')
    expect(await released).toBe('not-current')
  })

  test('C11: without a final answer within 5 s it is unconfirmed, never an assumed success', async () => {
    const { ticket, session, clock } = await holding()
    const released = failure(ticket.release())
    await session.release()
    clock.advance(4_999)
    expect(await stateOf(released)).toBe('pending')
    clock.advance(1)
    expect(await released).toMatchObject({ code: 'TICKET_RELEASE_UNCONFIRMED', outcome: 'unknown' })
  })

  test('C8: a release answered after 6 s leaves its session and the other callers alive', async () => {
    const { broker, ticket, session, clock, server } = await holding({
      onFrame: (frame, on) => frame.type === 'acquire' && frame.key === 'k' && on.grant(frame, 7n),
    })
    const other = broker.acquire('other', { ...short, wait: 30 })
    const frame = await session.acquire(1)
    const released = failure(ticket.release())
    await session.release()
    clock.advance(6_000)
    expect(await released).toMatchObject({ code: 'TICKET_RELEASE_UNCONFIRMED' })
    answer(session, 'released')
    await settle()
    session.grant(frame, 8n)
    expect((await other).token).toBe(8n)
    expect(session.hasEnded).toBe(false)
    expect(server.sessions).toHaveLength(1)
  })

  test('C11: after an unconfirmed release a new call tries anew, the automatic close does not', async () => {
    const { ticket, session, clock } = await holding()
    const first = failure(ticket.release())
    await session.release()
    clock.advance(5_000)
    expect(await first).toMatchObject({ code: 'TICKET_RELEASE_UNCONFIRMED' })
    await ticket[Symbol.asyncDispose]()
    const second = ticket.release()
    clock.advance(4_000)
    answer(session, 'released')
    expect(await second).toBe('released')
    // The first frame still waited for its answer there, and serves both (C2).
    expect(session.releases).toHaveLength(1)
  })

  test('C11: a release whose session is lost goes out again on the next one, by its exact token', async () => {
    const { ticket, session, clock, server } = await holding()
    const released = ticket.release()
    await session.release()
    session.reset()
    await until(() => session.hasEnded)
    await settle()
    clock.advance(200)
    const next = await server.session(1)
    expect(await next.release()).toEqual({ type: 'release', token: 7n, key: 'k' })
    answer(next, 'not-current')
    expect(await released).toBe('not-current')
  })

  test('C11: the 5 s are absolute, also over several sessions', async () => {
    const { ticket, session, clock, server } = await holding()
    const released = failure(ticket.release())
    await session.release()
    clock.advance(3_000)
    session.reset()
    await until(() => session.hasEnded)
    await settle()
    clock.advance(200)
    await (await server.session(1)).release()
    clock.advance(1_799)
    expect(await stateOf(released)).toBe('pending')
    clock.advance(1)
    expect(await released).toMatchObject({ code: 'TICKET_RELEASE_UNCONFIRMED', outcome: 'unknown' })
  })

  test('C11: a release that found no server was never sent, and says so', async () => {
    const { ticket, clock, server } = await holding()
    await server.close()
    await settle()
    const released = failure(ticket.release())
    clock.advance(5_000)
    const error = await released
    expect(error).toMatchObject({ code: 'TICKET_RELEASE_UNCONFIRMED', outcome: 'not-executed' })
    expect(error?.message).toContain('never sent')
  })

  test('C12: the automatic close is bounded and never rejects', async () => {
    const { ticket, session, clock } = await holding()
    const closed = ticket[Symbol.asyncDispose]()
    await session.release()
    clock.advance(5_000)
    expect(await closed).toBeUndefined()
  })

  test('C15: a release that nobody awaits ends without an unhandled rejection', async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', note)
    try {
      const { ticket, session, clock } = await holding()
      void ticket.release()
      await session.release()
      clock.advance(5_000)
      await settle()
      expect(unhandled).toEqual([])
    } finally {
      process.off('unhandledRejection', note)
    }
  })

  test('C11: after a stall of this process the answer that had arrived counts', async () => {
    const { ticket, session, clock } = await holding()
    const released = ticket.release()
    await session.release()
    clock.stall(8_000)
    answer(session, 'released')
    clock.advance(0) // the timers come first, as they do after a real stall
    expect(await released).toBe('released')
  })
})
