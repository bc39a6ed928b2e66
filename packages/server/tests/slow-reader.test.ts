import type { Socket } from 'node:net'
import { encodeFrame } from '@ticketing/protocol'
import { describe, expect, it } from 'vitest'
import type { RawClient } from './raw-client.js'
import { startTestServer, type TestServer } from './server-fixture.js'

const longKey = 'k'.repeat(128)

/** Resolves once the server has stopped reading from this client, and nothing moves any more. */
async function readingHasStopped(server: TestServer, slow: RawClient, bystander: RawClient): Promise<void> {
  const socket = server.sockets.find(({ remotePort }) => remotePort === slow.socket.localPort) as Socket
  const progress = () => `${socket.isPaused()} ${socket.bytesWritten} ${socket.writableLength}`
  let before: string
  do {
    before = progress()
    for (let roundTrips = 0; roundTrips < 20; roundTrips++) await bystander.settle()
  } while (progress() !== before || !socket.isPaused())
}

/** Sends acquires that are refused at once, far more than the buffers of both systems hold, and reads nothing. */
function flood(client: RawClient): number {
  const count = 200_000
  const frames = Array.from({ length: 1000 }, () => encodeFrame(client.request(longKey)))
  client.socket.pause()
  for (let sent = 0; sent < count; sent += frames.length) client.socket.write(Buffer.concat(frames))
  return count
}

describe('a client that does not read', () => {
  it('S6: the server reads no further from it, and loses nothing once it reads again', async () => {
    const server = await startTestServer()
    const [holder, slow] = [await server.join(), await server.join()]
    await holder.take(longKey)
    const count = flood(slow)
    await readingHasStopped(server, slow, holder)
    expect(await holder.take('other'), 'the others are served').toBeGreaterThan(0n)
    slow.socket.resume()
    const replies = await slow.nextMany(count)
    expect(new Set(replies.map(({ type }) => type))).toEqual(new Set(['not-in-time']))
    expect(server.log).toEqual([])
  })

  it('S6: it is closed once its unread replies pass outputBytesMax; the others are unaffected', async () => {
    const server = await startTestServer({ outputBytesMax: 256 * 1024 })
    const [holder, slow] = [await server.join(), await server.join()]
    const token = await holder.take(longKey, 100)
    // These all end at one instant, when nothing more can be sent to it: 4000 × 146 bytes.
    slow.send(...Array.from({ length: 4000 }, () => slow.request(longKey, 5)))
    await slow.settle()
    flood(slow)
    await readingHasStopped(server, slow, holder)
    server.clock.advance(5000)
    expect(await holder.settle()).toEqual([])
    await expect.poll(() => server.log).toEqual(['warn: session closed: the client does not read its replies'])
    slow.socket.resume()
    await slow.closed
    holder.send({ type: 'release', token, key: longKey })
    expect(await holder.next()).toEqual({ type: 'released', token, key: longKey })
  })

  it('S6: it is closed by the idle time if its buffer never passes the limit', async () => {
    const server = await startTestServer({ idleSeconds: 60 })
    const [holder, slow] = [await server.join(), await server.join()]
    await holder.take(longKey, 250)
    flood(slow)
    await readingHasStopped(server, slow, holder)
    server.clock.advance(59_000)
    await holder.settle()
    server.clock.advance(1000)
    server.clock.advance(2000)
    slow.socket.resume()
    await slow.closed
    expect(await holder.settle()).toEqual([])
  })
})
