import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { TicketError } from '@ticketing/client'
import { startServer } from '@ticketing/server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { brokerOn, stateOf } from './support/brokers.js'
import { type Script, ScriptedServer } from './support/scripted-server.js'
import { settle, until } from './support/until.js'

const short = { wait: 5, lease: 30, minWork: 1 } as const
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

describe('closing', () => {
  test('C15: pending acquires end with TICKET_CLOSED, and say whether they were sent', async () => {
    const server = await ScriptedServer.listen({
      welcome: () => ({ type: 'leader', leads: false, address: undefined }),
    })
    const { broker: unsent, clock } = brokerOn(server.address)
    await server.session(0)
    const never = failure(unsent.acquire('k', short))
    const ready = failure(unsent.waitReady(5))
    await unsent.close()
    expect(await never).toMatchObject({ code: 'TICKET_CLOSED', outcome: 'not-executed' })
    expect((await never)?.message).toContain('never sent')
    expect(await ready).toMatchObject({ code: 'TICKET_CLOSED', outcome: 'not-executed' })
    expect(clock.pendingTimers).toBe(0)

    const { broker, session } = await connected()
    const [plain, withSignal] = [
      failure(broker.acquire('a', short)),
      failure(broker.acquire('b', { ...short, signal: new AbortController().signal })),
    ]
    await session.acquire()
    await broker.close()
    for (const error of [await plain, await withSignal]) expect(error).toMatchObject({ code: 'TICKET_CLOSED' })
    expect(await plain).toMatchObject({ outcome: 'unknown' })
    await until(() => session.hasEnded)
  })

  test('C15: a closed broker refuses everything, and closing again is the same end', async () => {
    const { broker, server } = await connected(grants)
    const ticket = await broker.acquire('k', short)
    const first = broker.close()
    expect(broker.close()).toBe(first)
    await first
    await broker[Symbol.asyncDispose]()
    for (const call of [
      broker.acquire('k', short),
      broker.tryAcquire('k', short),
      broker.waitReady(1),
      ticket.release(),
    ]) {
      expect(await failure(call)).toMatchObject({ code: 'TICKET_CLOSED', outcome: 'not-executed' })
    }
    expect(await failure(broker.tryAcquire('', short))).toMatchObject({ code: 'TICKET_INVALID_ARGUMENT' })
    expect(ticket.remaining()).toBe(0)
    await settle()
    expect(server.frames).toHaveLength(1)
  })

  test('C11: close waits for pending releases', async () => {
    const { broker, session } = await connected(grants)
    const ticket = await broker.acquire('k', short)
    const released = ticket.release()
    const closed = broker.close()
    await session.release()
    await settle()
    expect(await stateOf(closed)).toBe('pending')
    session.send({ type: 'released', token: 7n, key: 'k' })
    await closed
    expect(await released).toBe('released')
  })

  test('C11: close waits at most 5 s, then what is unconfirmed says so', async () => {
    const { broker, session, clock } = await connected(grants)
    const ticket = await broker.acquire('k', short)
    const released = failure(ticket.release())
    const closed = broker.close()
    await session.release()
    clock.advance(5_000)
    await closed
    expect(await released).toMatchObject({ code: 'TICKET_RELEASE_UNCONFIRMED', outcome: 'unknown' })
    await until(() => session.hasEnded)
  })

  test('C8: a grant that arrives while the broker closes is given back', async () => {
    const { broker, session } = await connected({
      onFrame: (frame, on) => frame.type === 'acquire' && frame.key === 'held' && on.grant(frame, 7n),
    })
    const held = await broker.acquire('held', short)
    const pending = failure(broker.acquire('late', short))
    const frame = await session.acquire(1)
    const released = held.release()
    const closed = broker.close()
    expect(await pending).toMatchObject({ code: 'TICKET_CLOSED', outcome: 'unknown' })
    session.grant(frame, 8n)
    expect(await session.release(1)).toEqual({ type: 'release', token: 8n, key: 'late' })
    for (const [token, key] of [
      [7n, 'held'],
      [8n, 'late'],
    ] as const) {
      session.send({ type: 'released', token, key })
    }
    await closed
    expect(await released).toBe('released')
  })

  test('C9: a ticket’s signal works on after the broker is closed', async () => {
    const { broker, clock } = await connected(grants)
    const { signal } = await broker.acquire('k', short)
    await broker.close()
    clock.advance(29_999)
    expect(signal.aborted).toBe(false)
    clock.advance(1)
    expect(signal.aborted).toBe(true)
  })

  test('C15: closing cancels every timer and connection of the broker', async () => {
    const { server, broker, clock, session } = await connected(grants)
    const ticket = await broker.acquire('k', { ...short, signal: new AbortController().signal })
    const released = ticket.release()
    await session.release()
    session.send({ type: 'released', token: 7n, key: 'k' })
    await released
    await broker.close()
    expect(clock.pendingTimers).toBe(0)
    await until(() => server.sessions.every(({ hasEnded }) => hasEnded))
    clock.advance(60_000)
    await settle()
    expect(server.sessions).toHaveLength(2)
  })
})

describe('the process', () => {
  function run(address: string, mode: string): { child: ChildProcess; output: () => string } {
    const file = (name: string) => fileURLToPath(new URL(`support/${name}`, import.meta.url))
    const args = [
      '--conditions',
      'ticketing-source',
      '--import',
      file('typescript-loader.mjs'),
      file('closed-broker.mjs'),
    ]
    const child = spawn(process.execPath, [...args, address, mode], { stdio: ['ignore', 'pipe', 'pipe'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
    return { child, output: () => output }
  }

  test('C15: a process with a closed broker ends by itself', async () => {
    const server = await startServer({ listen: '127.0.0.1:0' })
    onTestFinished(() => server.close())
    const { child, output } = run(server.address, 'close')
    const [code] = await once(child, 'exit')
    expect(output()).toBe('closed TICKET_CLOSED TICKET_CLOSED\n')
    expect(code).toBe(0)
  })

  test('C15: an open broker keeps its process alive', async () => {
    const server = await startServer({ listen: '127.0.0.1:0', waitersPerKeyMax: 1 })
    onTestFinished(() => server.close())
    const { child, output } = run(server.address, 'open')
    await until(() => output() !== '')
    // What keeps the event loop alive is asked in the process itself: no waiting could show that it never ends.
    expect([output(), child.exitCode]).toEqual(['busy, kept alive by its sockets\n', null])
  })
})
