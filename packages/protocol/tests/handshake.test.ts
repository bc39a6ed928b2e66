import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  digestMatches,
  encodeDigest,
  encodeFrame,
  encodeGreeting,
  HandshakeLine,
  handshakeDigest,
  handshakeLineBytesMax,
  parseDigest,
  parseGreeting,
  type WireErrorCode,
} from '../src/index.js'
import { cutAt } from './parsing.js'
import { runs } from './random-runs.js'

const nonce = Buffer.alloc(32, 7)
const nonceText = nonce.toString('base64url')

describe('digest', () => {
  it('wire: any one of several secrets matches, wherever it stands', () => {
    const digest = handshakeDigest('second', nonce)
    expect(digestMatches(digest, nonce, ['second'])).toBe(true)
    expect(digestMatches(digest, nonce, ['first', 'second', 'third'])).toBe(true)
    expect(digestMatches(digest, nonce, ['third', 'first', 'second'])).toBe(true)
  })

  it('wire: no other secret, no other nonce and no other length matches', () => {
    const digest = handshakeDigest('secret', nonce)
    expect(digestMatches(digest, nonce, [])).toBe(false)
    expect(digestMatches(digest, nonce, ['', 'Secret', 'secret '])).toBe(false)
    expect(digestMatches(digest, Buffer.alloc(32, 8), ['secret'])).toBe(false)
    expect(digestMatches(digest.subarray(1), nonce, ['secret'])).toBe(false)
    const oneBitOff = Buffer.from(digest)
    oneBitOff[31] = (oneBitOff[31] as number) ^ 1
    expect(digestMatches(oneBitOff, nonce, ['secret'])).toBe(false)
  })
})

describe('lines', () => {
  it.each<[string, string, WireErrorCode]>([
    ['another version', `TKT3 hmac-sha256 ${nonceText}`, 'WIRE_VERSION'],
    ['another algorithm', `TKT2 sha1 ${nonceText}`, 'WIRE_VERSION'],
    ['the greeting of version 0.1', `TKT ${nonceText}`, 'WIRE_VERSION'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.2', 'WIRE_VERSION'],
    ['an empty line', '', 'WIRE_VERSION'],
    ['no nonce', 'TKT2 hmac-sha256', 'WIRE_MALFORMED'],
    ['a nonce of 31 bytes', `TKT2 hmac-sha256 ${Buffer.alloc(31).toString('base64url')}`, 'WIRE_MALFORMED'],
    ['a nonce of 33 bytes', `TKT2 hmac-sha256 ${Buffer.alloc(33).toString('base64url')}`, 'WIRE_MALFORMED'],
    ['a nonce that is not base64url', `TKT2 hmac-sha256 ${'+'.repeat(43)}`, 'WIRE_MALFORMED'],
    ['a word too many', `TKT2 hmac-sha256 ${nonceText} x`, 'WIRE_MALFORMED'],
    ['an error with a reason of 33 bytes', `E${'r'.repeat(33)}`, 'WIRE_VERSION'],
  ])('wire: a greeting with %s is refused', (_title, line, code) => {
    expect(() => parseGreeting(line)).toThrow(expect.objectContaining({ name: 'WireError', code }))
  })

  it('wire: an error may stand in for the greeting', () => {
    const bytes = encodeFrame({ type: 'error', reason: 'too_many_sessions' })
    const line = new HandshakeLine().push(bytes)?.line as string
    expect(parseGreeting(line)).toEqual({ type: 'error', reason: 'too_many_sessions' })
  })

  it.each([
    ['31 bytes', Buffer.alloc(31).toString('base64url')],
    ['33 bytes', Buffer.alloc(33).toString('base64url')],
    ['nothing', ''],
    ['text that is not base64url', '*'.repeat(43)],
  ])('wire: an answer of %s is refused', (_title, line) => {
    expect(() => parseDigest(line)).toThrow(expect.objectContaining({ name: 'WireError', code: 'WIRE_MALFORMED' }))
  })

  it('wire: a line is found under every cut, and what follows it is handed back untouched', () => {
    const behind = fc.uint8Array({ maxLength: 600 })
    const line = fc.constantFrom(encodeGreeting(nonce), encodeDigest(nonce), Buffer.from(`${'x'.repeat(255)}\n`))
    fc.assert(
      fc.property(line, behind, fc.array(fc.nat(), { maxLength: 12 }), (expected, rest, cuts) => {
        const collector = new HandshakeLine()
        const chunks = cutAt(Buffer.concat([expected, rest]), cuts)
        let complete: ReturnType<HandshakeLine['push']>
        while (complete === undefined) complete = collector.push(chunks.shift() as Buffer)
        expect(`${complete.line}\n`).toBe(expected.toString('latin1'))
        expect(Buffer.concat([complete.rest, ...chunks]).equals(rest)).toBe(true)
      }),
      runs(300),
    )
  })

  it.each([
    ['at once', [Buffer.alloc(10_000, 'x')]],
    ['byte by byte', Array.from({ length: handshakeLineBytesMax }, () => Buffer.from('x'))],
    ['with its newline one byte too late', [Buffer.from(`${'x'.repeat(256)}\n`)]],
    ['with its newline one byte too late, cut', [Buffer.from('x'.repeat(255)), Buffer.from('x\n')]],
  ])('wire: a line of more than 256 bytes is refused: %s', (_title, chunks) => {
    const collector = new HandshakeLine()
    const push = () => {
      for (const chunk of chunks) collector.push(chunk)
    }
    expect(push).toThrow(expect.objectContaining({ name: 'WireError', code: 'WIRE_OVERSIZED' }))
  })

  it.each(['a\tb\n', 'a\0\n', 'é\n', 'line\r\n'])('wire: the line %j is refused: not printable ASCII', (line) => {
    expect(() => new HandshakeLine().push(Buffer.from(line))).toThrow(
      expect.objectContaining({ name: 'WireError', code: 'WIRE_MALFORMED' }),
    )
  })
})
