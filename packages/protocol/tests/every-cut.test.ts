import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeFrame, type Frame, FrameEncoder } from '../src/index.js'
import { clientFrame, serverFrame } from './arbitrary-frames.js'
import { byteByByte, cutAt, type Direction, heldBytesMax, parseChunks, parserFor } from './parsing.js'
import { runs } from './random-runs.js'

/** So many bytes have 2^15 ways to be cut; all of them are tried. */
const allCutsBytesMax = 16

describe.each<{ from: Direction; frame: fc.Arbitrary<Frame> }>([
  { from: 'client', frame: clientFrame },
  { from: 'server', frame: serverFrame },
])('frames from the $from', ({ from, frame }) => {
  it('wire: every frame round-trips whole, byte by byte and cut in two anywhere', () => {
    fc.assert(
      fc.property(frame, (one) => {
        const bytes = encodeFrame(one)
        expect(bytes.length).toBeLessThanOrEqual(heldBytesMax(from))
        expect(parseChunks(from, [bytes])).toEqual([one])
        expect(parseChunks(from, byteByByte(bytes))).toEqual([one])
        for (let at = 0; at <= bytes.length; at++) expect(parseChunks(from, cutAt(bytes, [at]))).toEqual([one])
      }),
      runs(150),
    )
  })

  it('wire: streams of frames round-trip under random cuts', () => {
    const stream = fc.array(frame, { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(stream, fc.array(fc.nat(), { maxLength: 60 }), (frames, cuts) => {
        const bytes = Buffer.concat(frames.map(encodeFrame))
        expect(parseChunks(from, cutAt(bytes, cuts))).toEqual(frames)
      }),
      runs(400),
    )
  })

  it('wire: frames behind the one that ends the session are not delivered', () => {
    const bytes = Buffer.concat(fc.sample(frame, { numRuns: 10, seed: 1 }).map(encodeFrame))
    for (const chunks of [[bytes], byteByByte(bytes)]) {
      const parser = parserFor(from)
      let delivered = 0
      for (const chunk of chunks) parser.push(chunk, () => ++delivered < 3)
      expect(delivered).toBe(3)
    }
  })
})

it.each<{ from: Direction; frame: Frame }>([
  { from: 'client', frame: { type: 'release', token: 10n, key: 'é\u{1f511}' } },
  { from: 'server', frame: { type: 'not-current', token: 0x0a0a0a0a0a0a0a0an, key: 'ab' } },
  { from: 'server', frame: { type: 'leader', leads: true, address: '[::1]:5225' } },
  { from: 'server', frame: { type: 'error', reason: 'shutting_down' } },
])('wire: $from: a small $frame.type frame round-trips under all of its cuts', ({ from, frame }) => {
  const bytes = encodeFrame(frame)
  expect(bytes.length).toBeLessThanOrEqual(allCutsBytesMax)
  for (let mask = 0; mask < 2 ** (bytes.length - 1); mask++) {
    const offsets = Array.from(bytes, (_, index) => index).filter((index) => index > 0 && mask & (1 << (index - 1)))
    const frames = parseChunks(from, cutAt(bytes, offsets))
    if (frames.length !== 1) throw new Error(`The cut ${offsets} gave ${frames.length} frames.`)
    if (mask % 97 === 0) expect(frames).toEqual([frame])
  }
})

describe('FrameEncoder', () => {
  it('wire: gathers many frames into one buffer, and what was taken is not overwritten by later frames', () => {
    fc.assert(
      fc.property(fc.array(fc.array(serverFrame, { maxLength: 120 }), { maxLength: 8 }), (turns) => {
        const encoder = new FrameEncoder()
        const taken: Buffer[] = []
        for (const frames of turns) {
          const expected = Buffer.concat(frames.map(encodeFrame))
          for (const frame of frames) encoder.write(frame)
          expect(encoder.pendingBytes).toBe(expected.length)
          const bytes = encoder.take()
          expect(bytes === undefined).toBe(expected.length === 0)
          if (bytes !== undefined) taken.push(bytes)
          expect(encoder.pendingBytes).toBe(0)
        }
        expect(Buffer.concat(taken).equals(Buffer.concat(turns.flat().map(encodeFrame)))).toBe(true)
      }),
      runs(60),
    )
  })
})
