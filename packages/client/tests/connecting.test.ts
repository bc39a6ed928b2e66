import { createServer } from 'node:net'
import { TicketBroker, type TicketError } from '@ticketing/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { brokerOn, stateOf } from './support/brokers.js'
import { ScriptedServer } from './support/scripted-server.js'
import { settle, until } from './support/until.js'

const short = { wait: 5, lease: 30, minWork: 1 } as const

/** A port of this machine on which nothing listens. */
async function deadAddress(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise<void>((resolve) => server.close(() => resolve()))
  return `127.0.0.1:${port}`
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as TicketError,
  )

describe('connecting', () => {
  test('C15: connect returns at once for an unreachable server; an acquire ends never sent when its budget is over', async () => {
    const { broker, clock } = brokerOn(await deadAddress(), { connectSeconds: 2 })
    const acquire = failure(broker.acquire('k', short))
    const ready = failure(broker.waitReady('1.5s'))
    await settle()
    clock.advance(1_499)
    await settle()
    expect(await stateOf(ready)).toBe('pending')
    clock.advance(1)
    expect(await ready).toMatchObject({ code: 'TICKET_NOT_CONNECTED', outcome: 'not-executed' })
    expect(await stateOf(acquire)).toBe('pending')
    clock.advance(500)
    const error = await acquire
    expect(error).toMatchObject({ code: 'TICKET_NOT_CONNECTED', outcome: 'not-executed' })
    expect(error?.message).toContain('never sent')
    expect(error?.message).toContain('ECONNREFUSED')
    expect(error?.message).toContain('2 s (connectSeconds)')
    expect(error?.cause).toMatchObject({ code: 'TICKET_NOT_CONNECTED', cause: { code: 'ECONNREFUSED' } })
  })

  test('C15: it waits unsent for a server that leads, and the wait is counted from then on', async () => {
    const server = await ScriptedServer.listen({
      welcome: () => ({ type: 'leader', leads: false, address: undefined }),
    })
    const { broker, clock } = brokerOn(server.address)
    const session = await server.session(0)
    const acquire = broker.acquire('k', short)
    clock.advance(4_000)
    await settle()
    expect(session.frames).toEqual([])
    session.send({ type: 'leader', leads: true, address: undefined })
    const frame = await session.acquire()
    expect(frame).toMatchObject({ waitSeconds: 5, leaseSeconds: 30 })
    clock.advance(4_000)
    session.grant(frame, 9n)
    expect((await acquire).token).toBe(9n)
  })

  test('C15: a failed authentication is what the acquire ends with, if it was the last failure', async () => {
    const server = await ScriptedServer.listen({ welcome: () => ({ type: 'error', reason: 'auth_failed' }) })
    const { broker, clock } = brokerOn(server.address, { token: 'hunter2', connectSeconds: 1 })
    await until(() => server.sessions.length === 1 && server.sessions[0]?.hasEnded === true)
    const acquire = failure(broker.acquire('k', short))
    clock.advance(1_000)
    const error = await acquire
    expect(error).toMatchObject({ code: 'TICKET_AUTH_FAILED', outcome: 'not-executed' })
    expect(error?.message).not.toContain('hunter2')
    expect(String(error?.cause)).not.toContain('hunter2')
  })

  test('C15: an acquire that waits unsent can be cancelled', async () => {
    const { broker } = brokerOn(await deadAddress())
    const controller = new AbortController()
    const acquire = failure(broker.acquire('k', { ...short, signal: controller.signal }))
    controller.abort(new Error('enough'))
    const error = await acquire
    expect(error).toMatchObject({ code: 'TICKET_CANCELLED', outcome: 'not-executed', cause: { message: 'enough' } })
    expect(error?.message).toContain('never sent')
  })

  test('C15: a lost connection does not break the broker: it reconnects, with back-off', async () => {
    const server = await ScriptedServer.listen()
    const { broker, clock } = brokerOn(server.address)
    await broker.waitReady(1)
    const first = await server.session(0)
    clock.advance(1_000)
    first.reset()
    await until(() => first.hasEnded)
    await settle()
    const acquire = broker.acquire('k', short)
    clock.advance(99)
    await settle()
    expect(server.sessions).toHaveLength(1)
    clock.advance(1)
    const second = await server.session(1)
    second.grant(await second.acquire(), 3n)
    expect((await acquire).token).toBe(3n)
    expect(first.frames).toEqual([])
  })

  test('C15: with several addresses acquires go to the server that leads', async () => {
    const follower = await ScriptedServer.listen({
      welcome: () => ({ type: 'leader', leads: false, address: undefined }),
    })
    const leader = await ScriptedServer.listen({
      onFrame: (frame, session) => frame.type === 'acquire' && session.grant(frame, 5n),
    })
    const { broker } = brokerOn([follower.address, await deadAddress(), leader.address])
    expect((await broker.acquire('k', short)).token).toBe(5n)
    const { signal } = new AbortController()
    expect((await broker.acquire('other', { ...short, signal })).token).toBe(5n)
    expect(follower.frames).toEqual([])
  })

  test('C15: a host name, and an IPv6 address in brackets', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '::1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const accepted = new Promise((resolve) => server.once('connection', resolve))
    const broker = TicketBroker.connect(`[::1]:${(server.address() as { port: number }).port}`)
    onTestFinished(() => broker.close())
    await accepted
    const scripted = await ScriptedServer.listen()
    await brokerOn(`localhost:${scripted.port}`).broker.waitReady(1)
  })

  test('C15: a server that accepts and says nothing is given up after 5 s', async () => {
    const server = await ScriptedServer.listen({ firstBytes: () => Buffer.from('TKT2 ') })
    const { broker, clock } = brokerOn(server.address, { connectSeconds: 6 })
    await until(() => server.sessions.length === 1)
    const acquire = failure(broker.acquire('k', short))
    clock.advance(5_000)
    await until(() => server.sessions[0]?.hasEnded === true)
    clock.advance(1_000)
    expect((await acquire)?.message).toContain('within 5 s')
  })
})
