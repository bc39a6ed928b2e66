import { encodeDigest, encodeFrame } from '@ticketing/protocol'
import { describe, expect, it } from 'vitest'
import { startTestServer } from './server-fixture.js'

const refused = (reason: string) => ({ type: 'error', reason })
const leads = { type: 'leader', leads: true, address: undefined }

describe('handshake', () => {
  it('wire: any of the client tokens opens a session; the first frame says that this server leads', async () => {
    const server = await startTestServer({ clientTokens: ['old', 'new'] })
    expect(await server.open().shakeHands('old')).toEqual(leads)
    expect(await server.open().shakeHands('new')).toEqual(leads)
  })

  it('wire: every greeting has a nonce of its own', async () => {
    const server = await startTestServer()
    const greetings = await Promise.all([server.open().greeting(), server.open().greeting()])
    expect(greetings[0]).toMatch(/^TKT2 hmac-sha256 [\w-]{43}$/)
    expect(greetings[0]).not.toBe(greetings[1])
  })

  it('wire: another secret, none, or the answer to another nonce gets auth_failed, then the end', async () => {
    const server = await startTestServer({ clientTokens: ['right'] })
    for (const secret of ['wrong', '']) {
      const client = server.open()
      expect(await client.shakeHands(secret)).toEqual(refused('auth_failed'))
      await client.closed
    }
    const [one, other] = [server.open(), server.open()]
    one.socket.write(await other.answer('right'))
    expect(await one.next()).toEqual(refused('auth_failed'))
    expect(await other.shakeHands('right')).toEqual(leads)
    expect(server.log.join()).not.toContain('right')
  })

  it('wire: a server without client tokens accepts any digest, but nothing that is no digest', async () => {
    const server = await startTestServer()
    expect(await server.open().shakeHands('whatever')).toEqual(leads)
    const client = server.open()
    await client.greeting()
    client.socket.write(encodeDigest(Buffer.alloc(31)))
    expect(await client.next()).toEqual(refused('bad_request'))
    await client.closed
  })

  it('wire: an answer may come byte by byte', async () => {
    const server = await startTestServer({ clientTokens: ['secret'] })
    const client = server.open()
    for (const byte of await client.answer('secret')) {
      await new Promise((resolve) => client.socket.write(Buffer.from([byte]), resolve))
    }
    expect(await client.next()).toEqual(leads)
  })

  it('wire: frames that come in one chunk with the answer are handled like those that come later', async () => {
    const server = await startTestServer()
    const client = server.open()
    const frames = [client.request('k'), { type: 'ping' as const }]
    client.socket.write(Buffer.concat([await client.answer(), ...frames.map(encodeFrame)]))
    expect((await client.nextMany(3)).map(({ type }) => type)).toEqual(['leader', 'granted', 'pong'])
  })

  it('wire: a line of more than 256 bytes gets bad_request, then the end', async () => {
    const server = await startTestServer()
    const client = server.open()
    await client.greeting()
    client.socket.write('x'.repeat(257))
    expect(await client.next()).toEqual(refused('bad_request'))
    await client.closed
  })

  it('wire: a line must be complete within 5 s, however many bytes come meanwhile', async () => {
    const server = await startTestServer()
    const client = server.open()
    await client.greeting()
    for (let second = 1; second <= 4; second++) {
      client.socket.write('x')
      await expect.poll(() => server.sockets[0]?.bytesRead).toBe(second)
      server.clock.advance(1000)
    }
    server.clock.advance(999)
    expect(client.frames).toEqual([])
    server.clock.advance(1)
    expect(await client.next()).toEqual(refused('idle'))
    await client.closed
  })
})

describe('sessions and addresses', () => {
  it('S6: sessions: one too many gets too_many_sessions in place of the greeting, until one ends', async () => {
    const server = await startTestServer({ sessionsMax: 2 })
    const first = await server.join()
    await server.join()
    const third = server.open({ localAddress: '127.0.0.2' })
    expect(await third.greeting()).toBe('Etoo_many_sessions')
    await third.closed
    first.socket.destroy()
    await expect.poll(async () => await server.open().greeting()).toMatch(/^TKT2/)
  })

  it('S6: sessions per address: a connection before its handshake counts too', async () => {
    const server = await startTestServer({ sessionsMax: 100, sessionsPerAddressMax: 2 })
    const first = server.open()
    await first.greeting()
    await server.join()
    expect(await server.open().greeting()).toBe('Etoo_many_sessions')
    expect(await server.open({ localAddress: '127.0.0.2' }).greeting(), 'from elsewhere').toMatch(/^TKT2/)
    first.socket.destroy()
    await expect.poll(async () => await server.open().greeting()).toMatch(/^TKT2/)
    expect(server.log).toContain('warn: session refused: too many sessions')
  })

  it('S6: a refused peer that does not leave is cut off', async () => {
    const server = await startTestServer({ sessionsMax: 1 })
    const client = await server.join()
    const stays = server.open({ allowHalfOpen: true })
    expect(await stays.greeting()).toBe('Etoo_many_sessions')
    server.clock.advance(2000)
    client.socket.destroy()
    await server.close() // Would wait for a connection that is left.
    expect(stays.socket.closed).toBe(false)
  })
})
