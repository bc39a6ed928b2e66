import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  digestMatches,
  encodeDigest,
  encodeFrame,
  encodeGreeting,
  type Frame,
  HandshakeLine,
  handshakeDigest,
  parseDigest,
  parseGreeting,
} from '../src/index.js'
import { byteByByte, type Direction, parseChunks } from './parsing.js'

// The bytes were written from the description of the format, not with this encoder. They never change within version 2.
interface GoldenFrame {
  readonly from: Direction
  readonly title: string
  readonly frame: Record<string, unknown>
  readonly hex: string
}
interface GoldenHandshake {
  readonly secret: string
  readonly nonce: string
  readonly greeting: string
  readonly digest: string
  readonly answer: string
}
const load = <T>(name: string): T[] => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8')) as T[]
const goldenFrames = load<GoldenFrame>('./golden-frames.json')
const goldenHandshakes = load<GoldenHandshake>('./golden-handshakes.json')

function frameOf({ frame }: GoldenFrame): Frame {
  const token = typeof frame.token === 'string' ? { token: BigInt(frame.token) } : {}
  const address = frame.type === 'leader' ? { address: frame.address } : {}
  return { ...frame, ...address, ...token } as unknown as Frame
}

describe('golden frames', () => {
  it('wire: every type of frame has a golden one', () => {
    const types = new Set(goldenFrames.map(({ from, frame }) => `${from} ${String(frame.type)}`))
    expect([...types].sort()).toEqual([
      'client acquire',
      'client ping',
      'client release',
      'server busy',
      'server error',
      'server granted',
      'server leader',
      'server moved',
      'server not-current',
      'server not-in-time',
      'server pong',
      'server released',
    ])
  })

  it.each(goldenFrames)('wire: $from: $title is encoded to these bytes', (golden) => {
    expect(encodeFrame(frameOf(golden)).toString('hex')).toBe(golden.hex)
  })

  it.each(goldenFrames)('wire: $from: $title is read from these bytes', (golden) => {
    const bytes = Buffer.from(golden.hex, 'hex')
    expect(parseChunks(golden.from, [bytes])).toEqual([frameOf(golden)])
    expect(parseChunks(golden.from, byteByByte(bytes))).toEqual([frameOf(golden)])
  })
})

describe('golden handshakes', () => {
  it.each(goldenHandshakes)('wire: greeting, digest and answer for the secret "$secret"', (golden) => {
    const nonce = Buffer.from(golden.nonce, 'hex')
    const digest = handshakeDigest(golden.secret, nonce)
    expect(digest.toString('hex')).toBe(golden.digest)
    expect(encodeGreeting(nonce).toString('hex')).toBe(golden.greeting)
    expect(encodeDigest(digest).toString('hex')).toBe(golden.answer)
    expect(parseGreeting(lineIn(golden.greeting))).toEqual({ type: 'greeting', nonce })
    expect(parseDigest(lineIn(golden.answer)).toString('hex')).toBe(golden.digest)
    expect(digestMatches(digest, nonce, ['another', golden.secret])).toBe(true)
  })
})

function lineIn(hex: string): string {
  const complete = new HandshakeLine().push(Buffer.from(hex, 'hex'))
  if (complete === undefined || complete.rest.length > 0) throw new Error('The golden bytes are not one line.')
  return complete.line
}
