import { type AcquireFrame, encodeFrame, type ServerFrame } from '@ticketing/protocol'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../src/clock.js'
import type { ReplySink, ServingMode } from '../src/serving-mode.js'
import { SingleMode } from '../src/single-mode.js'
import { ManualClock } from './manual-clock.js'
import { startTestServer } from './server-fixture.js'
import { roomyLimits } from './table-driver.js'

const types = (frames: readonly ServerFrame[]) => frames.map(({ type }) => type)

/** Really keeps the event loop from turning. */
function block(milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

/** In the timers phase of the event loop, where a late timer would come before what waits on the sockets. */
const inTimersPhase = (action: () => void) => new Promise<void>((resolve) => setTimeout(() => resolve(action()), 0))

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('S12: the event loop stalled past a wait', () => {
  it('S12: the release is handled before the timer: the overdue waiter gets T, the next one A', async () => {
    const server = await startTestServer()
    const [holder, overdue, next] = [await server.join(), await server.join(), await server.join()]
    const token = await holder.take('k')
    overdue.send(overdue.request('k', 1))
    await overdue.settle()
    next.send(next.request('k', 60))
    await next.settle()
    server.clock.stall(1000)
    holder.send({ type: 'release', token, key: 'k' })
    expect(await overdue.next()).toMatchObject({ type: 'not-in-time' })
    expect(await next.next()).toMatchObject({ type: 'granted', token: token + 1n })
    server.clock.advance(10_000)
    expect(await overdue.settle(), 'its timer is dead').toEqual([])
  })

  it('S12: the same in real time', async () => {
    const server = await startTestServer({}, { clock: systemClock })
    const [holder, overdue, next] = [await server.join(), await server.join(), await server.join()]
    const token = await holder.take('k')
    overdue.send(overdue.request('k', 1))
    await overdue.settle()
    next.send(next.request('k', 60))
    await next.settle()
    holder.send({ type: 'release', token, key: 'k' })
    block(1100)
    expect(await overdue.next()).toMatchObject({ type: 'not-in-time' })
    expect(await next.next()).toMatchObject({ type: 'granted' })
  })
})

describe('time', () => {
  it('S9: a chunk with 200 ms of frames, a ping and an acquire: deadline − lease is not before the pong', async () => {
    const clock = new ManualClock()
    const started = clock.now()
    // Each of these frames takes a millisecond to handle.
    const aroundMode = (mode: ServingMode): ServingMode => ({
      role: () => mode.role(),
      acquire(session: ReplySink, frame: AcquireFrame) {
        mode.acquire(session, frame)
        if (frame.key.startsWith('slow')) clock.stall(1)
      },
      release: (session, frame) => mode.release(session, frame),
      sessionEnded: (session) => mode.sessionEnded(session),
      close: () => mode.close(),
    })
    const server = await startTestServer({}, { clock, aroundMode })
    const [client, other] = [await server.join(), await server.join()]
    const frames = Array.from({ length: 200 }, (_, index) => client.request(`slow${index}`))
    const chunk = [...frames, { type: 'ping' as const }, client.request('k', 0, 1)]
    client.socket.write(Buffer.concat(chunk.map(encodeFrame)))
    expect(types((await client.nextMany(202)).slice(200))).toEqual(['pong', 'granted'])
    const pongAt = started + 200
    expect(clock.now()).toBe(pongAt)
    clock.stall(999)
    other.send(other.request('k'))
    expect(types([await other.next()]), 'still held 999 ms after the pong').toEqual(['not-in-time'])
    clock.stall(1)
    other.send(other.request('k'))
    expect(types([await other.next()])).toEqual(['granted'])
  })

  it('S7: a lease that ends while others wait is followed by the head, by a timer of its own', async () => {
    const server = await startTestServer()
    const [holder, waiter] = [await server.join(), await server.join()]
    const token = await holder.take('k', 3)
    waiter.send(waiter.request('k', 60))
    await waiter.settle()
    server.clock.advance(2999)
    await turn()
    expect(await waiter.settle()).toEqual([])
    server.clock.advance(1)
    expect(await waiter.next()).toMatchObject({ type: 'granted', token: token + 1n })
  })

  it('S1: a wait that ends gets T by a timer of its own, also if a longer one was there first', async () => {
    const server = await startTestServer()
    const [holder, client] = [await server.join(), await server.join()]
    await holder.take('k', 100)
    client.send(client.request('k', 9), client.request('k', 2), client.request('k', 5))
    await client.settle()
    for (const [seconds, owner] of [
      [2, '2'],
      [3, '3'],
      [4, '1'],
    ] as const) {
      server.clock.advance(seconds * 1000 - 1)
      expect(await client.settle()).toEqual([])
      server.clock.advance(1)
      expect(await client.next()).toMatchObject({ type: 'not-in-time', owner: owner.padStart(16, '0') })
    }
  })

  it('S2, S3: a frame that has arrived when a lease ends comes before the expiry, and takes the key over', async () => {
    const server = await startTestServer()
    const [holder, waiter, late] = [await server.join(), await server.join(), await server.join()]
    const token = await holder.take('k', 1)
    waiter.send(waiter.request('k', 60))
    await waiter.settle()
    await inTimersPhase(() => {
      late.send(late.request('k'))
      server.clock.advance(1000)
    })
    expect(await late.next()).toMatchObject({ type: 'granted', token: token + 1n })
    late.send({ type: 'release', token: token + 1n, key: 'k' })
    expect(await waiter.next()).toMatchObject({ type: 'granted', token: token + 2n })
  })

  it('S7: the sweep comes every 5 s and is spread over turns', async () => {
    const clock = new ManualClock()
    const mode = new SingleMode(clock, { ...roomyLimits, keysMax: 5000 }, 1n)
    const replies: ServerFrame[] = []
    const session: ReplySink = { send: (frame) => replies.push(frame) > 0 }
    const owner = 'o'.repeat(16)
    for (let index = 0; index < 5000; index++) {
      mode.acquire(session, { type: 'acquire', owner, key: `k${index}`, waitSeconds: 0, leaseSeconds: 1 })
    }
    const release = (from: number, to: number) => {
      replies.length = 0
      for (let index = from; index < to; index++) {
        mode.release(session, { type: 'release', token: BigInt(index + 1), key: `k${index}` })
      }
      return new Set(types(replies))
    }
    clock.advance(4999)
    await turn()
    expect(release(0, 500), 'before the sweep').toEqual(new Set(['released']))
    clock.advance(1)
    expect(release(500, 2750), 'after its first turn').toEqual(new Set(['released', 'not-current']))
    await turn()
    await turn()
    expect(release(2750, 5000), 'after it').toEqual(new Set(['not-current']))
    mode.close()
  })

  it('S10: the first token is past the wall clock × 2^20', async () => {
    const server = await startTestServer({}, { unixMilliseconds: 1_790_000_000_000 })
    const client = await server.join()
    expect(await client.take('k')).toBe(1_790_000_000_000n * 2n ** 20n)
    expect(await client.take('k2')).toBe(1_790_000_000_000n * 2n ** 20n + 1n)
  })

  it('S8: a grant to a session that is over is taken back, and the next one gets the key', () => {
    const clock = new ManualClock()
    const mode = new SingleMode(clock, roomyLimits, 1n)
    const sent: string[] = []
    const sink = (name: string, lives: () => boolean): ReplySink => ({
      send: ({ type }) => lives() && sent.push(`${name} ${type}`) > 0,
    })
    let leaverLives = true
    const [holder, leaver, next] = [
      sink('holder', () => true),
      sink('leaver', () => leaverLives),
      sink('next', () => true),
    ]
    const request = { type: 'acquire', owner: 'o'.repeat(16), key: 'k', waitSeconds: 60, leaseSeconds: 10 } as const
    for (const session of [holder, leaver, next]) mode.acquire(session, request)
    leaverLives = false
    mode.release(holder, { type: 'release', token: 1n, key: 'k' })
    expect(sent).toEqual(['holder granted', 'holder released', 'next granted'])
    mode.close()
  })
})
