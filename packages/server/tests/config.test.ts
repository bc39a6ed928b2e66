import { describe, expect, it } from 'vitest'
import { readConfig, serverOptionTable } from '../src/config.js'
import { ServerError, startServer } from '../src/index.js'
import { startTestServer } from './server-fixture.js'

const faultOf = (options: Record<string, unknown>): string => {
  try {
    readConfig(options)
  } catch (error) {
    if (error instanceof ServerError && error.code === 'SERVER_INVALID_OPTION') return error.message
    throw error
  }
  throw new Error('Nothing was refused.')
}

describe('options', () => {
  it('house rule: every default of the table is free of faults and of contradictions', () => {
    const config = readConfig({})
    for (const [name, row] of Object.entries(serverOptionTable)) {
      expect(config[name as keyof typeof config]).toEqual(row.default)
    }
  })

  it.each<[Record<string, unknown>, RegExp]>([
    [{ listen: 'localhost' }, /listen .*host:port.*not "localhost"/],
    [{ listen: '127.0.0.1:65536' }, /listen .*0 to 65535.*not "127.0.0.1:65536"/],
    [{ listen: 5225 }, /listen .*not 5225/],
    [{ sessionsMax: 0 }, /sessionsMax .*whole number of sessions from 1 to 1000000, not 0/],
    [{ sessionsMax: 1.5 }, /not 1\.5/],
    [{ sessionsMax: Number.NaN }, /not NaN/],
    [{ sessionsMax: '5' }, /not "5"/],
    [{ keysMax: 10_000_001 }, /keysMax .*1 to 10000000, not 10000001/],
    [{ outputBytesMax: 1000 }, /outputBytesMax .*262144 to 1073741824, not 1000/],
    [{ idleSeconds: 4 }, /idleSeconds .*whole number of seconds from 5 to 86400, not 4/],
    [{ clientTokens: 'secret' }, /clientTokens must be an array of strings\./],
    [{ clientTokens: ['ok', ''] }, /clientTokens .*1 to 1024 bytes; number 2 has 0/],
    [{ clientTokens: ['s'.repeat(1025)] }, /number 1 has 1025/],
    [{ clientTokens: [7] }, /number 1 is none/],
    [{ clientTokens: Array.from({ length: 65 }, () => 's') }, /at most 64 tokens, not 65/],
    [{ waitersMax: 10, waitersPerKeyMax: 11 }, /waitersPerKeyMax \(11\) must not be above waitersMax \(10\)/],
    [{ waitersMax: 10, outstandingPerSessionMax: 11 }, /outstandingPerSessionMax \(11\) .*waitersMax \(10\)/],
    [{ sessionsMax: 10, sessionsPerAddressMax: 11 }, /sessionsPerAddressMax \(11\) .*sessionsMax \(10\)/],
    [{ sessionMax: 10 }, /sessionMax is no option of the server; there are listen, .*logger/],
    [{ logger: {} }, /logger must have the methods info, warn and error/],
  ])('bad input: %j is refused, with name, value and range', (options, message) => {
    expect(faultOf(options)).toMatch(message)
    expect(faultOf(options)).toMatch(/No server was started\.$/)
  })

  it('bad input: a secret is never shown', () => {
    expect(faultOf({ clientTokens: [`hush${'s'.repeat(1024)}`] })).not.toContain('hush')
    expect(faultOf({ clientTokens: 'hush' })).not.toContain('hush')
  })

  it('house rule: a lower limit lowers the defaults below it, and undefined is as good as left out', () => {
    expect(readConfig({ waitersMax: 10, sessionsMax: 5, keysMax: undefined })).toMatchObject({
      waitersPerKeyMax: 10,
      outstandingPerSessionMax: 10,
      sessionsPerAddressMax: 5,
      keysMax: serverOptionTable.keysMax.default,
    })
  })

  it("house rule: the caller's options are neither changed nor kept", () => {
    const options = Object.freeze({ clientTokens: Object.freeze(['one']) })
    const config = readConfig(options)
    expect(config.clientTokens).toEqual(['one'])
    expect(config.clientTokens).not.toBe(options.clientTokens)
  })
})

describe('starting', () => {
  it('bad input: an invalid option rejects and starts nothing', async () => {
    await expect(startServer({ keysMax: 0 })).rejects.toMatchObject({
      name: 'ServerError',
      code: 'SERVER_INVALID_OPTION',
      outcome: 'not-executed',
    })
  })

  it('bad input: an address in use is named, and what to do', async () => {
    const server = await startTestServer()
    const second = startServer({ listen: server.address })
    await expect(second).rejects.toMatchObject({ code: 'SERVER_LISTEN_FAILED' })
    await expect(second).rejects.toThrow(`Cannot listen on ${server.address}: something else listens there`)
  })

  it('bad input: an address of another machine is named', async () => {
    await expect(startServer({ listen: '192.0.2.1:0' })).rejects.toThrow(
      /Cannot listen on 192\.0\.2\.1:0: .*EADDRNOTAVAIL/,
    )
  })

  it('S10: a wall clock that is too far ahead stops the start', async () => {
    const started = startTestServer({}, { unixMilliseconds: 2 ** 42 + 1 })
    await expect(started).rejects.toMatchObject({ code: 'SERVER_TOKENS_EXHAUSTED' })
    await expect(started).rejects.toThrow(/above 2\^62.*Set the clock right\. No server was started/)
  })

  it('house rule: the address says the port that was bound, in brackets for IPv6', async () => {
    expect((await startTestServer()).address).toMatch(/^127\.0\.0\.1:[1-9]\d*$/)
    expect((await startTestServer({ listen: '[::1]:0' })).address).toMatch(/^\[::1\]:[1-9]\d*$/)
  })

  it('house rule: it warns where everyone in the network may take locks, and only there', async () => {
    const warning = 'warn: no client tokens: everyone who can reach this address can take and release locks'
    expect((await startTestServer({ listen: '0.0.0.0:0' })).log).toEqual([warning])
    expect((await startTestServer({ listen: '0.0.0.0:0', clientTokens: ['secret'] })).log).toEqual([])
    expect((await startTestServer({ listen: '127.0.0.2:0' })).log).toEqual([])
    expect((await startTestServer({ listen: '[::1]:0' })).log).toEqual([])
  })
})
