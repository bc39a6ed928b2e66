import { Socket } from 'node:net'
import { encodeFrame, type ServerFrame } from '@ticketing/protocol'
import { describe, expect, it, vi } from 'vitest'
import { startTestServer } from './server-fixture.js'

const types = (frames: readonly ServerFrame[]) => frames.map(({ type }) => type)

describe('frames', () => {
  it('wire, fault 22: frames that come byte by byte are understood', async () => {
    const server = await startTestServer()
    const client = await server.join()
    const key = 'κλειδί/\u{1f511}'
    for (const byte of encodeFrame(client.request(key))) {
      await new Promise((resolve) => client.socket.write(Buffer.from([byte]), resolve))
    }
    const granted = await client.next()
    expect(granted).toMatchObject({ type: 'granted', owner: '1'.padStart(16, '0'), key })
  })

  it('wire: a pong is written in stream order', async () => {
    const server = await startTestServer()
    const client = await server.join()
    const ping = { type: 'ping' as const }
    client.send(client.request('k'), ping, client.request('k'), ping, ping, client.request('k2'))
    expect(types(await client.nextMany(6))).toEqual(['granted', 'pong', 'not-in-time', 'pong', 'pong', 'granted'])
  })

  it('S5: replies come when they are due, across sessions', async () => {
    const server = await startTestServer()
    const [holder, client] = [await server.join(), await server.join()]
    const token = await holder.take('k')
    client.send(client.request('k', 60), client.request('k', 0), client.request('other', 60))
    expect(await client.nextMany(2)).toMatchObject([
      { type: 'not-in-time', owner: '2'.padStart(16, '0') },
      { type: 'granted', owner: '3'.padStart(16, '0') },
    ])
    holder.send({ type: 'release', token, key: 'k' })
    expect(await holder.next()).toEqual({ type: 'released', token, key: 'k' })
    expect(await client.next()).toMatchObject({ type: 'granted', owner: '1'.padStart(16, '0'), token: token + 2n })
  })

  it('S8: any session may release, by the exact token', async () => {
    const server = await startTestServer()
    const [holder, other] = [await server.join(), await server.join()]
    const token = await holder.take('k')
    other.send({ type: 'release', token: token + 1n, key: 'k' }, { type: 'release', token, key: 'k' })
    expect(types(await other.nextMany(2))).toEqual(['not-current', 'released'])
  })

  it.each([
    ['a lease of 0', Buffer.concat([Buffer.from([0x41, 1, 0]), Buffer.alloc(16), Buffer.from('k\n')])],
    ['a token of 0', Buffer.concat([Buffer.from('R'), Buffer.alloc(8), Buffer.from('k\n')])],
    ['a key with a space', Buffer.concat([Buffer.from([0x41, 1, 1]), Buffer.alloc(16), Buffer.from('a b\n')])],
    ['a key of 129 bytes', Buffer.concat([Buffer.from([0x41, 1, 1]), Buffer.alloc(16), Buffer.alloc(129, 'k')])],
    ['an unknown letter', Buffer.from('Z')],
    ['a frame of the server', encodeFrame({ type: 'busy', owner: 'o'.repeat(16), key: 'k' })],
  ])('wire: %s gets bad_request, then the end; what came before it is answered', async (_title, bytes) => {
    const server = await startTestServer()
    const client = await server.join()
    client.socket.write(Buffer.concat([encodeFrame(client.request('k')), bytes, encodeFrame(client.request('k2'))]))
    expect(types([await client.next()])).toEqual(['granted'])
    expect(await client.next()).toEqual({ type: 'error', reason: 'bad_request' })
    await client.closed
    const other = await server.join()
    expect(await other.take('k2'), 'nothing behind the fault was handled').toBeGreaterThan(0n)
  })

  it('house rule: the replies of one turn leave in one write for each session', async () => {
    const server = await startTestServer()
    const [holder, client] = [await server.join(), await server.join()]
    const keys = Array.from({ length: 50 }, (_, index) => `k${index}`)
    holder.send(...keys.map((key) => holder.request(key)))
    const grants = await holder.nextMany(50)
    client.send(...keys.map((key) => client.request(key, 60)))
    await client.settle()
    const port = Number(server.address.split(':')[1])
    const written: number[] = []
    const write = vi.spyOn(Socket.prototype, 'write')
    write.mockImplementation(function (this: Socket, ...args: Parameters<Socket['write']>) {
      if (this.localPort === port) written.push(Buffer.byteLength(args[0]))
      return realWrite.apply(this, args)
    })
    const realWrite = Object.getPrototypeOf(Socket.prototype).write as Socket['write']
    try {
      holder.send(...grants.map((frame) => ({ type: 'release' as const, token: tokenOf(frame), key: keyOf(frame) })))
      await Promise.all([holder.nextMany(50), client.nextMany(50)])
    } finally {
      write.mockRestore()
    }
    expect(written).toHaveLength(2)
  })
})

const tokenOf = (frame: ServerFrame): bigint => (frame.type === 'granted' ? frame.token : 0n)
const keyOf = (frame: ServerFrame): string => (frame.type === 'granted' ? frame.key : '')

describe('the end of a session', () => {
  it('S8, fault 21: a session that leaves while it is queued: the grant passes on', async () => {
    const server = await startTestServer()
    const [holder, leaver, next] = [await server.join(), await server.join(), await server.join()]
    const token = await holder.take('k')
    leaver.send(leaver.request('k', 60))
    await leaver.settle()
    next.send(next.request('k', 60))
    await next.settle()
    leaver.socket.end()
    await leaver.closed
    holder.send({ type: 'release', token, key: 'k' })
    expect(await next.next()).toMatchObject({ type: 'granted', token: token + 1n })
  })

  it('S8: the end of a session releases nothing', async () => {
    const server = await startTestServer()
    const [holder, other] = [await server.join(), await server.join()]
    const token = await holder.take('k')
    holder.socket.destroy()
    await holder.closed
    await other.settle()
    other.send(other.request('k'), { type: 'release', token, key: 'k' })
    expect(types(await other.nextMany(2))).toEqual(['not-in-time', 'released'])
  })

  it('wire: a client that closes its sending side still gets the replies to what it sent', async () => {
    const server = await startTestServer()
    const client = await server.join()
    client.socket.end(Buffer.concat([encodeFrame(client.request('k')), encodeFrame({ type: 'ping' })]))
    expect(types(await client.nextMany(2))).toEqual(['granted', 'pong'])
    await client.closed
  })

  it('wire: silence for the idle time gets idle, then the end; any byte starts it anew', async () => {
    const server = await startTestServer({ idleSeconds: 60 })
    const client = await server.join()
    server.clock.advance(59_999)
    expect(await client.settle()).toEqual([])
    server.clock.advance(59_999)
    expect(client.frames).toEqual([])
    server.clock.advance(1)
    expect(await client.next()).toEqual({ type: 'error', reason: 'idle' })
    await client.closed
  })

  it('wire: a client that was told the end and does not leave is cut off after 2 s', async () => {
    const server = await startTestServer({ sessionsMax: 1 })
    const client = server.open({ allowHalfOpen: true })
    await client.shakeHands()
    client.socket.write('Z')
    expect(await client.next()).toEqual({ type: 'error', reason: 'bad_request' })
    server.clock.advance(1999)
    expect(await server.open().greeting()).toBe('Etoo_many_sessions')
    server.clock.advance(1)
    await expect.poll(async () => await server.open().greeting()).toMatch(/^TKT2/)
    expect(client.socket.closed).toBe(false)
  })
})
