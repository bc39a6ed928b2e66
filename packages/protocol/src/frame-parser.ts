import { isUtf8 } from 'node:buffer'
import { parseAddress } from './address.js'
import type { ClientFrame, PingFrame, PongFrame, ServerFrame } from './frame.js'
import {
  addressBytesMax,
  clientFrameBytesMax,
  errorReasonBytesMax,
  frameBytesMax,
  keyBytesMax,
  leaseSecondsMax,
  leaseSecondsMin,
  ownerBytes,
  tokenMax,
  tokenMin,
} from './limits.js'
import { WireError } from './wire-error.js'

/** Receives each frame in stream order; `false` stops the parser for good (the session is over). */
export type FrameSink<F> = (frame: F) => unknown

/** What follows the letter: a count of fixed bytes, then text up to the newline. */
interface Layout<F> {
  readonly fixedBytes: number
  readonly textBytesMin: number
  readonly textBytesMax: number
  /** `text` lies between `from` and `to`; the fixed bytes end at `from`. */
  build(bytes: Buffer, from: number, to: number): F
}

const newline = 0x0a

/**
 * Turns chunks, cut anywhere, into frames. It touches no socket and keeps at most one incomplete frame. A fixed field
 * may hold any byte, also a newline: it is counted, and the newline is looked for only behind it.
 */
export class FrameParser<F> {
  readonly #layouts: readonly (Layout<F> | undefined)[]
  readonly #bare: F
  readonly #carry: Buffer
  #carried = 0
  #stopped = false
  /** Where the frame read last ends, in the buffer it was read from. */
  #next = 0

  private constructor(layouts: readonly (Layout<F> | undefined)[], bare: F, frameBytes: number) {
    this.#layouts = layouts
    this.#bare = bare
    this.#carry = Buffer.allocUnsafeSlow(frameBytes)
  }

  /** A parser for what clients send. */
  static forClientFrames(): FrameParser<ClientFrame> {
    return new FrameParser<ClientFrame>(clientLayouts, ping, clientFrameBytesMax)
  }

  /** A parser for what servers send after the handshake. */
  static forServerFrames(): FrameParser<ServerFrame> {
    return new FrameParser<ServerFrame>(serverLayouts, pong, frameBytesMax)
  }

  /** Bytes of the incomplete frame that waits for more. */
  get heldBytes(): number {
    return this.#carried
  }

  /**
   * Reads one chunk. Frames before a fault are delivered first. After a fault, or once the sink answered `false`,
   * further chunks are ignored: nothing behind that point can be trusted.
   *
   * @throws {WireError} where the bytes break the format; whoever reads ends the session.
   */
  push(chunk: Uint8Array, sink: FrameSink<F>): void {
    if (this.#stopped) return
    let bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    try {
      if (this.#carried > 0) {
        const held = this.#carried
        const copied = bytes.copy(this.#carry, held)
        const frame = this.#read(this.#carry.subarray(0, held + copied), 0)
        if (frame === undefined) {
          this.#carried = held + copied
          return
        }
        this.#carried = 0
        bytes = bytes.subarray(this.#next - held)
        if (sink(frame) === false) {
          this.#stopped = true
          return
        }
      }
      let at = 0
      while (at < bytes.length) {
        const frame = this.#read(bytes, at)
        if (frame === undefined) {
          this.#carried = bytes.copy(this.#carry, 0, at)
          return
        }
        at = this.#next
        if (sink(frame) === false) {
          this.#stopped = true
          return
        }
      }
    } catch (error) {
      this.#stopped = true
      throw error
    }
  }

  /** The frame that starts at `start`, or `undefined` while it is incomplete. */
  #read(bytes: Buffer, start: number): F | undefined {
    const letter = bytes[start] as number
    if (letter === newline) {
      this.#next = start + 1
      return this.#bare
    }
    const layout = this.#layouts[letter]
    if (layout === undefined) {
      throw new WireError('WIRE_UNKNOWN_FRAME', `A frame starts with byte 0x${letter.toString(16).padStart(2, '0')}.`)
    }
    const from = start + 1 + layout.fixedBytes
    const length = bytes.length
    for (let at = from; at < length; at++) {
      if (bytes[at] === newline) {
        if (at - from < layout.textBytesMin) throw new WireError('WIRE_MALFORMED', 'A frame ends before its text.')
        const frame = layout.build(bytes, from, at)
        this.#next = at + 1
        return frame
      }
      if (at - from >= layout.textBytesMax) {
        throw new WireError('WIRE_OVERSIZED', `The text of a frame passes ${layout.textBytesMax} bytes.`)
      }
    }
    return undefined
  }
}

const ping: PingFrame = Object.freeze({ type: 'ping' })
const pong: PongFrame = Object.freeze({ type: 'pong' })

function readKey(bytes: Buffer, from: number, to: number): string {
  let ascii = true
  for (let at = from; at < to; at++) {
    const byte = bytes[at] as number
    if (byte <= 0x20 || byte === 0x7f)
      throw new WireError('WIRE_MALFORMED', 'A key holds a space or control character.')
    if (byte >= 0x80) ascii = false
  }
  if (ascii) return bytes.toString('latin1', from, to)
  if (!isUtf8(bytes.subarray(from, to))) throw new WireError('WIRE_MALFORMED', 'A key is not well-formed UTF-8.')
  return bytes.toString('utf8', from, to)
}

function readToken(bytes: Buffer, at: number): bigint {
  const token = bytes.readBigUInt64BE(at)
  if (token < tokenMin || token > tokenMax) throw new WireError('WIRE_MALFORMED', 'A token is 0 or above 2^63 - 1.')
  return token
}

function readOwner(bytes: Buffer, at: number): string {
  return bytes.toString('latin1', at, at + ownerBytes)
}

function readAddress(bytes: Buffer, from: number, to: number): string {
  const text = bytes.toString('latin1', from, to)
  if (parseAddress(text) === undefined) throw new WireError('WIRE_MALFORMED', 'An address is not host:port.')
  return text
}

const keyText = { textBytesMin: 1, textBytesMax: keyBytesMax }

/** The layouts by their first byte. */
function byLetter<F>(layouts: Record<string, Layout<F>>): (Layout<F> | undefined)[] {
  const table = new Array<Layout<F> | undefined>(256).fill(undefined)
  for (const [letter, layout] of Object.entries(layouts)) table[letter.charCodeAt(0)] = layout
  return table
}

const clientLayouts = byLetter<ClientFrame>({
  A: {
    fixedBytes: 2 + ownerBytes,
    ...keyText,
    build(bytes, from, to) {
      const owner = from - ownerBytes
      const waitSeconds = bytes[owner - 2] as number
      const leaseSeconds = bytes[owner - 1] as number
      if (leaseSeconds < leaseSecondsMin || leaseSeconds > leaseSecondsMax) {
        throw new WireError('WIRE_MALFORMED', 'A lease is 0 or above 250 seconds.')
      }
      return {
        type: 'acquire',
        waitSeconds,
        leaseSeconds,
        owner: readOwner(bytes, owner),
        key: readKey(bytes, from, to),
      }
    },
  },
  R: {
    fixedBytes: 8,
    ...keyText,
    build: (bytes, from, to) => ({ type: 'release', token: readToken(bytes, from - 8), key: readKey(bytes, from, to) }),
  },
})

const serverLayouts = byLetter<ServerFrame>({
  A: {
    fixedBytes: 8 + ownerBytes,
    ...keyText,
    build(bytes, from, to) {
      const owner = from - ownerBytes
      return {
        type: 'granted',
        token: readToken(bytes, owner - 8),
        owner: readOwner(bytes, owner),
        key: readKey(bytes, from, to),
      }
    },
  },
  T: {
    fixedBytes: ownerBytes,
    ...keyText,
    build: (bytes, from, to) => ({
      type: 'not-in-time',
      owner: readOwner(bytes, from - ownerBytes),
      key: readKey(bytes, from, to),
    }),
  },
  B: {
    fixedBytes: ownerBytes,
    ...keyText,
    build: (bytes, from, to) => ({
      type: 'busy',
      owner: readOwner(bytes, from - ownerBytes),
      key: readKey(bytes, from, to),
    }),
  },
  R: {
    fixedBytes: 8,
    ...keyText,
    build: (bytes, from, to) => ({
      type: 'released',
      token: readToken(bytes, from - 8),
      key: readKey(bytes, from, to),
    }),
  },
  N: {
    fixedBytes: 8,
    ...keyText,
    build: (bytes, from, to) => ({
      type: 'not-current',
      token: readToken(bytes, from - 8),
      key: readKey(bytes, from, to),
    }),
  },
  M: {
    fixedBytes: 0,
    textBytesMin: 1,
    textBytesMax: addressBytesMax,
    build: (bytes, from, to) => ({ type: 'moved', address: readAddress(bytes, from, to) }),
  },
  L: {
    fixedBytes: 1,
    textBytesMin: 0,
    textBytesMax: addressBytesMax,
    build(bytes, from, to) {
      const role = bytes[from - 1]
      if (role !== 0x2b && role !== 0x2d) throw new WireError('WIRE_MALFORMED', 'A leader notice has no + or -.')
      return { type: 'leader', leads: role === 0x2b, address: from === to ? undefined : readAddress(bytes, from, to) }
    },
  },
  E: {
    fixedBytes: 0,
    textBytesMin: 1,
    textBytesMax: errorReasonBytesMax,
    build(bytes, from, to) {
      const reason = bytes.toString('latin1', from, to)
      if (!/^[a-z0-9_]+$/.test(reason)) throw new WireError('WIRE_MALFORMED', 'An error frame has no reason word.')
      return { type: 'error', reason }
    },
  },
})
