import { describe, expect, it } from 'vitest'
import { encodeFrame, type Frame, WireError, type WireErrorCode } from '../src/index.js'
import { byteByByte, type Direction, parseChunks } from './parsing.js'

const owner = '\n'.repeat(16)
const token = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(value)
  return bytes
}
const frame = (letter: string, ...parts: (string | readonly number[] | Buffer)[]): Buffer =>
  Buffer.concat([letter, ...parts, '\n'].map((part) => Buffer.from(part as string)))
const acquire = (wait: number, lease: number, key: string | Buffer): Buffer => frame('A', [wait, lease], owner, key)

function faultOf(action: () => unknown): WireErrorCode | undefined {
  try {
    action()
    return undefined
  } catch (error) {
    if (error instanceof WireError) return error.code
    throw error
  }
}

const badKeys: [title: string, bytes: Buffer, code: WireErrorCode][] = [
  ['an empty key', Buffer.from(''), 'WIRE_MALFORMED'],
  ['a key of 129 bytes', Buffer.from('k'.repeat(129)), 'WIRE_OVERSIZED'],
  ['a key of 65 two-byte characters', Buffer.from('é'.repeat(65)), 'WIRE_OVERSIZED'],
  ['a key with a space', Buffer.from('a b'), 'WIRE_MALFORMED'],
  ['a key with NUL', Buffer.from('a\0b'), 'WIRE_MALFORMED'],
  ['a key with U+001F', Buffer.from('a\u001f'), 'WIRE_MALFORMED'],
  ['a key with U+007F', Buffer.from('\u007fa'), 'WIRE_MALFORMED'],
  ['a key that is a lone continuation byte', Buffer.from([0x80]), 'WIRE_MALFORMED'],
  ['a key cut inside a character', Buffer.from('é').subarray(0, 1), 'WIRE_MALFORMED'],
  ['a key with an overlong slash', Buffer.from([0xc0, 0xaf]), 'WIRE_MALFORMED'],
  ['a key with an encoded surrogate', Buffer.from([0xed, 0xa0, 0x80]), 'WIRE_MALFORMED'],
  ['a key above U+10FFFF', Buffer.from([0xf4, 0x90, 0x80, 0x80]), 'WIRE_MALFORMED'],
]

const malformed: [from: Direction, title: string, bytes: Buffer, code: WireErrorCode][] = [
  ...badKeys.flatMap(([title, key, code]): typeof malformed => [
    ['client', `acquire of ${title}`, acquire(1, 1, key), code],
    ['client', `release of ${title}`, frame('R', token(1n), key), code],
    ['server', `granted with ${title}`, frame('A', token(1n), owner, key), code],
    ['server', `not in time with ${title}`, frame('T', owner, key), code],
    ['server', `busy with ${title}`, frame('B', owner, key), code],
    ['server', `released with ${title}`, frame('R', token(1n), key), code],
    ['server', `not current with ${title}`, frame('N', token(1n), key), code],
  ]),
  ['client', 'a lease of 0', acquire(1, 0, 'k'), 'WIRE_MALFORMED'],
  ['client', 'a lease of 251', acquire(1, 251, 'k'), 'WIRE_MALFORMED'],
  ...[0n, 2n ** 63n, 2n ** 64n - 1n].flatMap((value): typeof malformed => [
    ['client', `release of token ${value}`, frame('R', token(value), 'k'), 'WIRE_MALFORMED'],
    ['server', `granted token ${value}`, frame('A', token(value), owner, 'k'), 'WIRE_MALFORMED'],
    ['server', `released token ${value}`, frame('R', token(value), 'k'), 'WIRE_MALFORMED'],
    ['server', `not-current token ${value}`, frame('N', token(value), 'k'), 'WIRE_MALFORMED'],
  ]),
  ...[...'TBNMLEZa@ \r\0'].map((letter): (typeof malformed)[number] => [
    'client',
    `the letter ${JSON.stringify(letter)}`,
    frame(letter, owner, 'k'),
    'WIRE_UNKNOWN_FRAME',
  ]),
  ...[...'ZPa@ \r\0ÿ'].map((letter): (typeof malformed)[number] => [
    'server',
    `the letter ${JSON.stringify(letter)}`,
    Buffer.from(`${letter}${owner}k\n`, 'latin1'),
    'WIRE_UNKNOWN_FRAME',
  ]),
  ['server', 'L without a role', frame('L', '\n'), 'WIRE_MALFORMED'],
  ['server', 'L with another role', frame('L', '*10.0.0.1:5225'), 'WIRE_MALFORMED'],
  ['server', 'L with text that is no address', frame('L', '+somewhere'), 'WIRE_MALFORMED'],
  ['server', 'L with an address of 260 bytes', frame('L', '+', `${'h'.repeat(255)}:5225`), 'WIRE_OVERSIZED'],
  ['server', 'M without an address', frame('M'), 'WIRE_MALFORMED'],
  ['server', 'M with port 65536', frame('M', '10.0.0.1:65536'), 'WIRE_MALFORMED'],
  ['server', 'M with an address of 260 bytes', frame('M', `${'h'.repeat(255)}:5225`), 'WIRE_OVERSIZED'],
  ['server', 'M with an address that is not ASCII', frame('M', 'hôte:5225'), 'WIRE_MALFORMED'],
  ['server', 'E without a reason', frame('E'), 'WIRE_MALFORMED'],
  ['server', 'E with a reason of 33 bytes', frame('E', 'r'.repeat(33)), 'WIRE_OVERSIZED'],
  ['server', 'E with a reason that is no word', frame('E', 'Bad request'), 'WIRE_MALFORMED'],
]

it.each(malformed)('wire: parser: from the %s: %s is refused', (from, _title, bytes, code) => {
  expect(faultOf(() => parseChunks(from, [bytes]))).toBe(code)
  expect(faultOf(() => parseChunks(from, byteByByte(bytes)))).toBe(code)
})

it('wire: parser: newlines in fixed fields are counted, not taken for the end', () => {
  const newlines = 0x0a0a0a0a0a0a0a0an
  expect(parseChunks('client', byteByByte(acquire(10, 10, 'k')))).toEqual([
    { type: 'acquire', waitSeconds: 10, leaseSeconds: 10, owner, key: 'k' },
  ])
  expect(parseChunks('server', byteByByte(frame('A', token(newlines), owner, 'k')))).toEqual([
    { type: 'granted', token: newlines, owner, key: 'k' },
  ])
})

type Fields = Record<string, unknown>
const good: Record<string, Fields> = {
  acquire: { type: 'acquire', waitSeconds: 1, leaseSeconds: 1, owner, key: 'k' },
  release: { type: 'release', token: 1n, key: 'k' },
  granted: { type: 'granted', token: 1n, owner, key: 'k' },
  'not-in-time': { type: 'not-in-time', owner, key: 'k' },
  busy: { type: 'busy', owner, key: 'k' },
  released: { type: 'released', token: 1n, key: 'k' },
  'not-current': { type: 'not-current', token: 1n, key: 'k' },
  moved: { type: 'moved', address: 'host:1' },
  leader: { type: 'leader', leads: true, address: undefined },
  error: { type: 'error', reason: 'idle' },
}

const badValues: Record<string, unknown[]> = {
  waitSeconds: [-1, 256, 0.5, Number.NaN, Number.POSITIVE_INFINITY],
  leaseSeconds: [0, 251, -1, 1.5, Number.NaN],
  owner: ['', 'o'.repeat(15), 'o'.repeat(17), `${'o'.repeat(15)}\u0100`],
  token: [0n, -1n, 2n ** 63n],
  key: ['', 'a b', 'a\n', '\u007f', '\ud800', 'a\udc00b', '\ud83d', 'k'.repeat(129), 'é'.repeat(65), 7, undefined],
  address: ['', 'host', 'host:65536', 'ho st:1', '::1:5225', 'hôte:1', `${'h'.repeat(255)}:5225`],
  reason: ['', 'Idle', 'two words', 'r'.repeat(33), 'a\n'],
}

const unencodable = Object.values(good).flatMap((fields) =>
  Object.keys(badValues)
    .filter((field) => field in fields)
    .flatMap((field) => (badValues[field] as unknown[]).map((value) => ({ type: fields.type, field, value, fields }))),
)

describe('encoder', () => {
  it.each(Object.values(good))('wire: encoder: $type with good fields is encoded', (fields) => {
    expect(faultOf(() => encodeFrame(fields as unknown as Frame))).toBeUndefined()
  })

  it.each(unencodable)('wire: encoder: $type with $field $value is refused', ({ fields, field, value }) => {
    expect(faultOf(() => encodeFrame({ ...fields, [field]: value } as unknown as Frame))).toBe('WIRE_MALFORMED')
  })
})
