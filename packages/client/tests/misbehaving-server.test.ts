import type { TicketError } from '@ticketing/client'
import { encodeFrame, encodeGreeting } from '@ticketing/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { brokerOn } from './support/brokers.js'
import { type Script, ScriptedServer, type ScriptedSession } from './support/scripted-server.js'
import { settle, until } from './support/until.js'

const short = { wait: 5, lease: 30, minWork: 1 } as const
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as TicketError,
  )

async function connected(script: Script = {}) {
  const server = await ScriptedServer.listen(script)
  const { broker, clock } = brokerOn(server.address)
  await broker.waitReady(1)
  return { server, broker, clock, session: await server.session(0) }
}

/** The next session, after the first was lost; the back-off has no jitter here. */
async function reconnected(server: ScriptedServer, clock: { advance(by: number): void }): Promise<ScriptedSession> {
  await until(() => server.sessions[0]?.hasEnded === true)
  await settle()
  clock.advance(200)
  return server.session(1)
}

// C15: whatever the peer does in a test of this file, nothing of it may come up unhandled.
const unhandled: unknown[] = []
const note = (error: unknown) => unhandled.push(error)
beforeEach(() => {
  unhandled.length = 0
  process.on('unhandledRejection', note).on('uncaughtException', note)
})
afterEach(async () => {
  await settle()
  process.off('unhandledRejection', note).off('uncaughtException', note)
  expect(unhandled).toEqual([])
})

describe('a server that misbehaves', () => {
  test('C3, C15: it dies with 50 acquires in flight: all indeterminate at once, then the broker works on', async () => {
    const { server, broker, clock, session } = await connected()
    const acquires = Array.from({ length: 50 }, (_, i) => failure(broker.acquire(`k${i}`, { ...short, wait: 200 })))
    await session.acquire(49)
    session.reset()
    const errors = await Promise.all(acquires) // the clock has not moved: nobody waits for a time of his own
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'TICKET_INDETERMINATE', outcome: 'unknown' })
      expect(error?.cause).toMatchObject({ code: 'TICKET_NOT_CONNECTED' })
    }
    const next = await reconnected(server, clock)
    const acquire = broker.acquire('k', short)
    next.grant(await next.acquire(), 3n)
    expect((await acquire).token).toBe(3n)
    expect(next.acquires).toHaveLength(1) // none of the 50 was sent again
  })

  test('C3: the reply is cut in the middle of a frame', async () => {
    const { broker, session } = await connected()
    const acquire = failure(broker.acquire('k', short))
    const { owner, key } = await session.acquire()
    session.sendBytes(encodeFrame({ type: 'granted', token: 7n, owner, key }).subarray(0, 20))
    session.end()
    expect(await acquire).toMatchObject({ code: 'TICKET_INDETERMINATE', outcome: 'unknown' })
  })

  test('C1: replies are understood however they are cut', async () => {
    const { broker, session } = await connected()
    const acquires = ['a€', 'b'].map((key) => broker.acquire(key, short))
    const [first, second] = [await session.acquire(0), await session.acquire(1)]
    const bytes = Buffer.concat([
      encodeFrame({ type: 'granted', token: 0x0a0a0a0an, owner: second.owner, key: second.key }),
      encodeFrame({ type: 'granted', token: 10n, owner: first.owner, key: first.key }),
    ])
    for (const byte of bytes) {
      session.sendBytes(Uint8Array.of(byte))
      await settle(1)
    }
    const tickets = await Promise.all(acquires)
    expect(tickets.map(({ key, token }) => [key, token])).toEqual([
      ['a€', 10n],
      ['b', 0x0a0a0a0an],
    ])
  })

  test.each<[string, Uint8Array]>([
    ['an unknown letter', Buffer.from('Z\n')],
    ['an oversized key', encodeFrame({ type: 'granted', token: 1n, owner: 'o'.repeat(16), key: 'k' }).fill(0x6b, 25)],
    ['a token of 0', Buffer.from(`A${'\0'.repeat(8)}${'o'.repeat(16)}k\n`)],
    ['a second role byte that is none', Buffer.from('L?\n')],
    ['a greeting in the middle', encodeGreeting(Buffer.alloc(32))],
  ])('C7: %s ends the session, and the acquires that were sent are indeterminate', async (_, bytes) => {
    const { broker, session } = await connected()
    const acquire = failure(broker.acquire('k', short))
    await session.acquire()
    session.sendBytes(Buffer.concat([bytes, Buffer.alloc(200, 0x6b)]))
    const error = await acquire
    expect(error).toMatchObject({ code: 'TICKET_INDETERMINATE', cause: { code: 'TICKET_PROTOCOL' } })
    await until(() => session.hasEnded)
  })

  test.each([
    ['no_leader', 'TICKET_NOT_CONNECTED'],
    ['not_active', 'TICKET_NOT_CONNECTED'],
    ['auth_failed', 'TICKET_AUTH_FAILED'],
    ['bad_request', 'TICKET_PROTOCOL'],
    ['too_many_sessions', 'TICKET_NOT_CONNECTED'],
    ['shutting_down', 'TICKET_NOT_CONNECTED'],
    ['idle', 'TICKET_NOT_CONNECTED'],
  ])('C7: E %s with an acquire in flight, and the broker connects again', async (reason, code) => {
    const { server, broker, clock, session } = await connected()
    const acquire = failure(broker.acquire('k', short))
    await session.acquire()
    session.send({ type: 'error', reason })
    expect(await acquire).toMatchObject({ code: 'TICKET_INDETERMINATE', outcome: 'unknown', cause: { code } })
    await reconnected(server, clock)
  })

  test('C7: E instead of the greeting', async () => {
    const server = await ScriptedServer.listen({ firstBytes: () => Buffer.from('Etoo_many_sessions\n') })
    const { broker, clock } = brokerOn(server.address)
    const ready = failure(broker.waitReady(1))
    await until(() => server.sessions[0]?.hasEnded === true)
    await settle()
    clock.advance(1_000)
    expect(await ready).toMatchObject({ code: 'TICKET_NOT_CONNECTED', outcome: 'not-executed' })
    expect((await ready)?.message).toContain('too_many_sessions')
  })

  test.each([
    ['TKT3 hmac-sha256 AAAA\n', 'wire version 2'],
    ['TKT2 hmac-sha512 AAAA\n', 'wire version 2'],
    ['SSH-2.0-OpenSSH_9.6\n', 'SSH-2.0-OpenSSH_9.6'],
    ['HTTP/1.1 400 Bad Request\r\n\r\n', 'does not follow the Ticketing wire format'],
    ['x'.repeat(300), 'does not follow the Ticketing wire format'],
  ])('C7: a peer that greets with %j is named as what it is', async (greeting, said) => {
    const server = await ScriptedServer.listen({ firstBytes: () => Buffer.from(greeting, 'latin1') })
    const { broker, clock } = brokerOn(server.address, { token: 'hunter2' })
    await until(() => server.sessions[0]?.hasEnded === true)
    const [ready, acquire] = [failure(broker.waitReady(1)), failure(broker.acquire('k', short))]
    await settle()
    clock.advance(5_000)
    for (const error of [await ready, await acquire]) {
      expect(error).toMatchObject({ code: 'TICKET_NOT_CONNECTED', cause: { code: 'TICKET_PROTOCOL' } })
      expect(error?.message).toContain(said)
    }
    expect(server.sessions[0]?.bytesReceived).toBe(0)
  })

  test('C8: a second A for one acquire ends the session, and its exact token is given back', async () => {
    const { server, broker, clock, session } = await connected()
    const acquire = broker.acquire('k', short)
    const other = failure(broker.acquire('other', short))
    const frame = await session.acquire(0)
    await session.acquire(1)
    session.grant(frame, 7n)
    await acquire
    session.grant(frame, 8n)
    expect(await other).toMatchObject({ code: 'TICKET_INDETERMINATE', cause: { code: 'TICKET_PROTOCOL' } })
    const next = await reconnected(server, clock)
    expect(await next.release()).toEqual({ type: 'release', token: 8n, key: 'k' })
  })

  test('C8: an A for nobody', async () => {
    const { server, clock, session } = await connected()
    session.send({ type: 'granted', token: 99n, owner: 'o'.repeat(16), key: 'stray' })
    const next = await reconnected(server, clock)
    expect(await next.release()).toEqual({ type: 'release', token: 99n, key: 'stray' })
  })

  test('C16: a server that falls silent: after wait + 5 s the acquires are indeterminate and the session is closed', async () => {
    const { broker, clock, session } = await connected({ answersPings: false })
    const acquires = [5, 60].map((wait) => failure(broker.acquire(`k${wait}`, { ...short, wait })))
    await session.acquire(1)
    clock.advance(9_999)
    await settle()
    expect(session.hasEnded).toBe(false)
    clock.advance(1)
    for (const acquire of acquires) {
      const error = await acquire
      expect(error).toMatchObject({ code: 'TICKET_INDETERMINATE', outcome: 'unknown' })
      expect(error?.message).toContain('no reply within the wait of a request and 5 s')
    }
    await until(() => session.hasEnded)
  })

  test('C16: after a stall of this process a reply that had arrived counts', async () => {
    const { broker, clock, session } = await connected()
    const acquire = failure(broker.acquire('k', { ...short, wait: 0 }))
    const { owner, key } = await session.acquire()
    clock.stall(60_000)
    session.send({ type: 'busy', owner, key })
    clock.advance(0) // the timers come first, as they do after a real stall
    expect(await acquire).toMatchObject({ code: 'TICKET_BUSY', outcome: 'not-executed' })
    expect(session.hasEnded).toBe(false)
  })

  test('C15: connections that die at every stage of the handshake', async () => {
    const stages = [
      Buffer.alloc(0),
      Buffer.from('TKT2'),
      encodeGreeting(Buffer.alloc(32)).subarray(0, 30),
      Buffer.from('\n'),
    ]
    const server = await ScriptedServer.listen({
      firstBytes: (number) => stages[number] ?? encodeGreeting(Buffer.alloc(32)),
      onFrame: (frame, session) => frame.type === 'acquire' && session.grant(frame, 1n),
    })
    const { broker, clock } = brokerOn(server.address, { connectSeconds: 60 })
    const acquire = broker.acquire('k', short)
    for (let i = 0; i < stages.length; i++) {
      await until(() => server.sessions.length === i + 1)
      await settle()
      server.sessions[i]?.reset()
      await until(() => server.sessions[i]?.hasEnded === true)
      await settle()
      clock.advance(3_200)
    }
    expect((await acquire).token).toBe(1n)
  })
})
