import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeFrame, type Frame, WireError } from '../src/index.js'
import { clientFrame, serverFrame } from './arbitrary-frames.js'
import { cutAt, type Direction, heldBytesMax, parserFor } from './parsing.js'
import { runs } from './random-runs.js'

const letters = [...'ARTBNMLE\n+-'].map((letter) => letter.charCodeAt(0))

/** Bytes in which the letters and the newline of the format are frequent, so that many runs get far. */
const hostileBytes = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(...letters)), { maxLength: 1200 })
  .map((bytes) => Buffer.from(bytes))

/** Pushes the chunks; anything but a `WireError` fails the test, and so does a parser that holds too much. */
function feed(from: Direction, chunks: readonly Buffer[]): { frames: Frame[]; fault: WireError | undefined } {
  const parser = parserFor(from)
  const frames: Frame[] = []
  for (const chunk of chunks) {
    try {
      parser.push(chunk, (frame) => frames.push(frame))
    } catch (error) {
      if (!(error instanceof WireError)) throw error
      const delivered = frames.length
      parser.push(Buffer.from('\n\n\n'), (frame) => frames.push(frame))
      expect(frames.length, 'frames after a fault').toBe(delivered)
      return { frames, fault: error }
    }
    expect(parser.heldBytes).toBeLessThanOrEqual(heldBytesMax(from))
  }
  return { frames, fault: undefined }
}

describe.each<{ from: Direction; frame: fc.Arbitrary<Frame> }>([
  { from: 'client', frame: clientFrame },
  { from: 'server', frame: serverFrame },
])('bytes from a hostile $from', ({ from, frame }) => {
  it('wire: random bytes cause nothing but a WireError, and no more than one frame is held', () => {
    fc.assert(
      fc.property(hostileBytes, fc.array(fc.nat(), { maxLength: 20 }), (bytes, cuts) => {
        feed(from, cutAt(bytes, cuts))
      }),
      runs(2000),
    )
  })

  it('wire: mutated streams cause nothing but a WireError; the frames before the mutation arrive', () => {
    const mutation = fc.record({
      at: fc.nat(),
      kind: fc.constantFrom('replace', 'insert', 'delete', 'cut off'),
      byte: fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(...letters)),
    })
    const stream = fc.array(frame, { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(stream, mutation, fc.array(fc.nat(), { maxLength: 12 }), (frames, { at, kind, byte }, cuts) => {
        const encoded = frames.map(encodeFrame)
        const bytes = Buffer.concat(encoded)
        const place = at % bytes.length
        const tail = bytes.subarray(kind === 'insert' ? place : place + 1)
        const middle = kind === 'replace' || kind === 'insert' ? [byte] : []
        const mutated = [bytes.subarray(0, place), Buffer.from(middle), ...(kind === 'cut off' ? [] : [tail])]
        const untouched = frames.filter((_, index) => Buffer.concat(encoded.slice(0, index + 1)).length <= place)
        const got = feed(from, cutAt(Buffer.concat(mutated), cuts)).frames
        expect(got.slice(0, untouched.length)).toEqual(untouched)
      }),
      runs(2000),
    )
  })

  it('wire: a frame that never ends is refused at its limit, not gathered', () => {
    for (const letter of from === 'client' ? 'AR' : 'ATBRNMLE') {
      const endless = Buffer.concat([Buffer.from(`${letter}+`), Buffer.alloc(4096, 'x')])
      expect(feed(from, cutAt(endless, [1, 5, 100, 200])).fault?.code).toBe('WIRE_OVERSIZED')
      expect(feed(from, [endless]).fault?.code).toBe('WIRE_OVERSIZED')
    }
  })
})
