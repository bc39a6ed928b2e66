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
const grants: Script = { onFrame: (frame, session) => frame.type === 'acquire' && session.grant(frame, 7n) }

/** A broker that is ready; its shared session is the server's number 0. */
async function connected(script: Script = {}) {
  const server = await ScriptedServer.listen(script)
  const { broker, clock } = brokerOn(server.address)
  await broker.waitReady(1)
  return { server, broker, clock, shared: await server.session(0) }
}

const keys = (session: ScriptedSession) => session.acquires.map(({ key }) => key)

describe('cancel', () => {
  test('C10: an acquire with a signal shares a session only with acquires of the same signal', async () => {
    const { server, broker, shared } = await connected()
    const [one, two] = [new AbortController(), new AbortController()]
    const acquires = [
      broker.acquire('plain', short),
      broker.acquire('one/a', { ...short, signal: one.signal }),
      broker.acquire('two', { ...short, signal: two.signal }),
      broker.acquire('one/b', { ...short, signal: one.signal }),
    ]
    await (await server.session(1)).acquire()
    await (await server.session(2)).acquire()
    await settle()
    const bySession = server.sessions.map(keys)
    expect(bySession[0]).toEqual(['plain'])
    expect(bySession.slice(1).sort()).toEqual([['one/a', 'one/b'], ['two']])
    for (const session of server.sessions) for (const frame of session.acquires) session.grant(frame, 1n)
    await Promise.all(acquires)
    expect(shared.hasEnded).toBe(false)
  })

  test('C10: a cancel after the frame was sent closes that session alone, and the outcome is unknown', async () => {
    const { server, broker, shared } = await connected()
    const [gone, stays] = [new AbortController(), new AbortController()]
    const cancelled = failure(broker.acquire('a', { ...short, signal: gone.signal }))
    const first = await server.session(1)
    await first.acquire()
    const other = broker.acquire('b', { ...short, signal: stays.signal })
    const second = await server.session(2)
    const frame = await second.acquire()
    const reason = new Error('the request was closed')
    gone.abort(reason)
    const error = await cancelled
    expect(error).toMatchObject({ code: 'TICKET_CANCELLED', outcome: 'unknown' })
    expect(error?.cause).toBe(reason)
    await until(() => first.hasEnded)
    second.grant(frame, 4n)
    expect((await other).token).toBe(4n)
    expect([shared.hasEnded, second.hasEnded]).toEqual([false, false])
  })

  test('C10: cancelled in the turn of the call, it was never sent', async () => {
    const { server, broker } = await connected(grants)
    const used = new AbortController()
    await broker.acquire('warm', { ...short, signal: used.signal })
    const session = await server.session(1)
    const controller = new AbortController()
    const acquire = failure(broker.acquire('k', { ...short, signal: controller.signal }))
    controller.abort()
    const error = await acquire
    expect(error).toMatchObject({ code: 'TICKET_CANCELLED', outcome: 'not-executed' })
    expect(error?.message).toContain('never sent')
    await until(() => session.hasEnded)
    expect(server.sessions.flatMap(keys)).toEqual(['warm'])
  })

  test('C10: cancelled while its session connects, it was never sent, and the session serves the next signal', async () => {
    const { server, broker } = await connected(grants)
    const controller = new AbortController()
    const acquire = failure(broker.acquire('k', { ...short, signal: controller.signal }))
    await settle(1)
    controller.abort()
    expect(await acquire).toMatchObject({ code: 'TICKET_CANCELLED', outcome: 'not-executed' })
    await server.session(1)
    await settle()
    await broker.acquire('next', { ...short, signal: new AbortController().signal })
    expect(server.sessions.map(keys)).toEqual([[], ['next']])
  })

  test('C10: a signal that has aborted already sends nothing', async () => {
    const { server, broker } = await connected()
    const signal = AbortSignal.abort(new Error('too late'))
    const result = await broker.tryAcquire('k', { ...short, signal })
    expect(result).toMatchObject({
      status: 'cancelled',
      error: { outcome: 'not-executed', cause: { message: 'too late' } },
    })
    await settle()
    expect(server.sessions).toHaveLength(1)
    expect(server.frames).toEqual([])
  })

  test('C10: a grant that was on its way when the signal aborted is given back over another session', async () => {
    const { server, broker, shared } = await connected()
    const controller = new AbortController()
    const acquire = failure(broker.acquire('k', { ...short, signal: controller.signal }))
    const own = await server.session(1)
    own.grant(await own.acquire(), 12n)
    controller.abort() // the grant is in the socket, unread
    expect(await acquire).toMatchObject({ code: 'TICKET_CANCELLED', outcome: 'unknown' })
    expect(await shared.release()).toEqual({ type: 'release', token: 12n, key: 'k' })
    await until(() => own.hasEnded)
  })

  test('C10: a session that was given up for a cancel is read for 1 s and then closed, whatever the server does', async () => {
    const { server, broker, clock, shared } = await connected({ staysHalfOpen: true })
    const controller = new AbortController()
    const acquire = failure(broker.acquire('k', { ...short, signal: controller.signal }))
    const own = await server.session(1)
    const frame = await own.acquire()
    controller.abort()
    await acquire
    await until(() => own.hasEnded)
    clock.advance(999)
    own.grant(frame, 12n)
    expect(await shared.release()).toEqual({ type: 'release', token: 12n, key: 'k' })
    const timers = clock.pendingTimers
    clock.advance(1)
    expect(clock.pendingTimers).toBe(timers - 1)
    own.send({ type: 'granted', token: 13n, owner: frame.owner, key: 'k' })
    await settle()
    expect(shared.releases).toHaveLength(1)
  })

  test('C10: an abort after the grant changes nothing', async () => {
    const { server, broker, shared } = await connected(grants)
    const controller = new AbortController()
    const ticket = await broker.acquire('k', { ...short, signal: controller.signal })
    controller.abort()
    await settle()
    expect(ticket.remaining()).toBe(30)
    expect(ticket.signal.aborted).toBe(false)
    expect(server.sessions.every(({ hasEnded }) => !hasEnded)).toBe(true)
    const released = ticket.release()
    await shared.release() // not over a session that the next signal may close
    shared.send({ type: 'released', token: 7n, key: 'k' })
    expect(await released).toBe('released')
  })

  test('C10: sessions of signals stay open and are used one after another', async () => {
    const { server, broker } = await connected(grants)
    for (let i = 0; i < 10; i++) {
      await broker.acquire(`k${i}`, { ...short, signal: new AbortController().signal })
    }
    expect(server.sessions).toHaveLength(2)
    expect(server.sessions[1]?.acquires).toHaveLength(10)
  })

  test('C10: at most 32 sessions are kept while nobody uses them', async () => {
    const { server, broker } = await connected()
    const acquires = Array.from({ length: 40 }, (_, i) =>
      broker.acquire(`k${i}`, { ...short, signal: new AbortController().signal }),
    )
    await until(() => server.frames.length === 40)
    for (const session of server.sessions) for (const frame of session.acquires) session.grant(frame, 1n)
    await Promise.all(acquires)
    await until(() => server.sessions.filter(({ hasEnded }) => hasEnded).length === 8)
    await settle()
    expect(server.sessions.filter(({ hasEnded }) => !hasEnded)).toHaveLength(33)
  })

  test('C10, C3: the loss of a signal’s session is indeterminate; it comes back only for a later acquire', async () => {
    const { server, broker, clock } = await connected()
    const { signal } = new AbortController()
    const acquire = failure(broker.acquire('k', { ...short, signal }))
    const own = await server.session(1)
    await own.acquire()
    own.reset()
    expect(await acquire).toMatchObject({ code: 'TICKET_INDETERMINATE', outcome: 'unknown' })
    clock.advance(200) // past the back-off
    await settle()
    expect(server.sessions).toHaveLength(2)
    const next = broker.acquire('k2', { ...short, signal })
    const second = await server.session(2)
    second.grant(await second.acquire(), 2n)
    expect((await next).token).toBe(2n)
    expect(server.sessions.flatMap(keys)).toEqual(['k', 'k2'])
  })

  test('C15: with a signal the connect budget counts too, and names why there was no session', async () => {
    const { broker, clock, server } = await connected({
      welcome: (number) =>
        number === 0
          ? { type: 'leader', leads: true, address: undefined }
          : { type: 'error', reason: 'too_many_sessions' },
    })
    const acquire = failure(broker.acquire('k', { ...short, signal: new AbortController().signal }))
    await until(() => server.sessions[1]?.hasEnded === true)
    await settle()
    clock.advance(4_999)
    expect(await stateOf(acquire)).toBe('pending')
    clock.advance(1)
    const error = await acquire
    expect(error).toMatchObject({ code: 'TICKET_NOT_CONNECTED', outcome: 'not-executed' })
    expect(error?.message).toContain('too_many_sessions')
  })

  test('C10: no listener is left on a signal', async () => {
    const { broker } = await connected(grants)
    const { signal } = new AbortController()
    let listeners = 0
    const { addEventListener, removeEventListener } = signal
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++
      addEventListener.apply(signal, args)
    }
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--
      removeEventListener.apply(signal, args)
    }
    await Promise.all(['a', 'b', 'c'].map((key) => broker.acquire(key, { ...short, signal })))
    expect(listeners).toBe(0)
  })
})
