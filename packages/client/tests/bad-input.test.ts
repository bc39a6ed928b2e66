import { TicketBroker, TicketError } from '@ticketing/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { brokerOn } from './support/brokers.js'
import { ScriptedServer } from './support/scripted-server.js'
import { settle } from './support/until.js'

const good = { wait: 5, lease: 30, minWork: 1 }

const acquireRows: [string, unknown, unknown, string[]][] = [
  ['an empty key', '', good, ['key', 'empty', '1 to 128 bytes']],
  ['a key of 129 bytes', 'k'.repeat(129), good, ['key', '129 bytes', '1 to 128']],
  ['a key of 129 bytes in 43 characters', '€'.repeat(43), good, ['key', '129 bytes', '1 to 128']],
  ['a key with a space', 'a b', good, ['key', 'U+0020', 'position 1']],
  ['a key with NUL', 'a\0', good, ['key', 'U+0000']],
  ['a key with a newline', 'a\nb', good, ['key', 'U+000A']],
  ['a key with DEL', 'a\x7f', good, ['key', 'U+007F']],
  ['a lone surrogate', 'a\ud800', good, ['key', 'lone surrogate']],
  ['no key', undefined, good, ['key', 'string', 'undefined']],
  ['a number as key', 42, good, ['key', 'string', 'number']],
  ['no options', 'k', undefined, ['wait, lease, minWork, signal']],
  ['null options', 'k', null, ['wait, lease, minWork, signal', 'null']],
  ['a misspelt option', 'k', { ...good, minwork: 1 }, ['"minwork"', 'wait, lease, minWork, signal']],
  ['a wait in milliseconds', 'k', { ...good, wait: 5000 }, ['wait', '0 to 255 seconds', '5000', "'5000ms'"]],
  ['a lease of 0', 'k', { ...good, lease: 0 }, ['lease', '1 to 250 seconds', 'got 0']],
  ['NaN', 'k', { ...good, lease: Number.NaN }, ['lease', '1 to 250 seconds', 'NaN']],
  ['a negative wait', 'k', { ...good, wait: -1 }, ['wait', '0 to 255 seconds', '-1']],
  [
    'a minWork above the lease',
    'k',
    { ...good, lease: 5, minWork: 6 },
    ['minWork', 'up to the lease', '5 seconds', '6'],
  ],
  ['work over 250 s', 'k', { ...good, lease: 250, minWork: 300 }, ['minWork', '0 to 250 seconds', '300']],
  ['a missing minWork', 'k', { wait: 5, lease: 30 }, ['minWork is required', '0 to 250 seconds']],
  ['a controller as signal', 'k', { ...good, signal: new AbortController() }, ['signal', 'AbortSignal', 'an object']],
]

const connectRows: [string, unknown, unknown, string[]][] = [
  ['no address', undefined, undefined, ['host:port', '1 to 65535', 'undefined']],
  ['no port', 'localhost', undefined, ['host:port', '"localhost"']],
  ['port 0', 'localhost:0', undefined, ['1 to 65535', '"localhost:0"']],
  ['port 65536', 'localhost:65536', undefined, ['1 to 65535']],
  ['a URL', 'tcp://localhost:5225', undefined, ['host:port', '"tcp://localhost:5225"']],
  ['no addresses', [], undefined, ['at least one host:port', 'empty array']],
  ['one bad address', ['localhost:5225', 'x'], undefined, ['host:port', '"x"']],
  ['a token that is no string', 'localhost:5225', { token: 42 }, ['token', 'string', 'number']],
  ['an unknown option', 'localhost:5225', { tokens: 'a' }, ['"tokens"', 'token, connectSeconds']],
  ['null options', 'localhost:5225', null, ['token, connectSeconds', 'null']],
  [
    'connectSeconds in milliseconds',
    'localhost:5225',
    { connectSeconds: 5000 },
    ['connectSeconds', '0 to 3600 seconds', "'5000ms'"],
  ],
  [
    'a negative connectSeconds',
    'localhost:5225',
    { connectSeconds: -1 },
    ['connectSeconds', '0 to 3600 seconds', '-1'],
  ],
]

function expectRefusal(error: unknown, parts: readonly string[]): void {
  expect(error).toBeInstanceOf(TicketError)
  expect(error).toMatchObject({ code: 'TICKET_INVALID_ARGUMENT', outcome: 'not-executed' })
  for (const part of [...parts, 'Nothing was sent']) expect((error as TicketError).message).toContain(part)
}

describe('bad input', () => {
  test.each(acquireRows)('C13: acquire refuses %s before a byte is sent', async (_, key, options, parts) => {
    const server = await ScriptedServer.listen({ answersPings: false })
    const { broker } = brokerOn(server.address)
    const session = await server.session(0)
    const before = session.bytesReceived
    const acquired = broker.acquire(key as string, options as typeof good)
    expectRefusal(await acquired.catch((error: unknown) => error), parts)
    const tried = broker.tryAcquire(key as string, options as typeof good)
    expectRefusal(await tried.catch((error: unknown) => error), parts)
    await settle()
    expect(session.bytesReceived).toBe(before)
    expect(server.sessions).toHaveLength(1)
  })

  test.each(connectRows)('C15: connect refuses %s', (_, addresses, options, parts) => {
    const connect = () => TicketBroker.connect(addresses as string, options as object)
    try {
      const broker = connect()
      onTestFinished(() => broker.close())
    } catch (error) {
      expectRefusal(error, parts)
      return
    }
    expect.unreachable('It was accepted.')
  })

  test('C14: a secret of the wrong type is not shown', () => {
    expect(() => TicketBroker.connect('localhost:5225', { token: ['hunter2'] as unknown as string })).toThrow(
      /^(?!.*hunter2).*token must be a string/,
    )
  })

  test.each([-1, Number.NaN, 3601, 'soon'])('C13: waitReady refuses %s', async (seconds) => {
    const server = await ScriptedServer.listen()
    const { broker } = brokerOn(server.address)
    expectRefusal(await broker.waitReady(seconds as number).catch((error: unknown) => error), ['seconds', '0 to 3600'])
  })

  test('C13: the caller’s options are not changed', async () => {
    const server = await ScriptedServer.listen({
      onFrame: (frame, session) => frame.type === 'acquire' && session.grant(frame, 1n),
    })
    const { broker } = brokerOn([server.address, server.address])
    const options = Object.freeze({ wait: 0.5, lease: '1500ms', minWork: 0 } as const)
    await broker.acquire('k', options)
    expect(server.frames).toMatchObject([{ type: 'acquire', waitSeconds: 1, leaseSeconds: 2, key: 'k' }])
    expect(server.sessions).toHaveLength(1)
  })
})
