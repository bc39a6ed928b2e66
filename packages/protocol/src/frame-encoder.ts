import { parseAddress } from './address.js'
import type { Frame } from './frame.js'
import { keyFault } from './key.js'
import {
  errorReasonBytesMax,
  frameBytesMax,
  leaseSecondsMax,
  leaseSecondsMin,
  ownerBytes,
  tokenMax,
  tokenMin,
  waitSecondsMax,
  waitSecondsMin,
} from './limits.js'
import { WireError } from './wire-error.js'

/** A server may hold ten thousand encoders that seldom say anything, and a few that say much in each turn. */
const slabBytesAtRest = 1024
const slabBytesInTurn = 16 * 1024
const newline = 0x0a

/**
 * Encodes frames and gathers them, so that a session hands all frames of one turn to its socket in one write. A socket
 * write costs more than everything else on the path of a frame.
 */
export class FrameEncoder {
  #slab = Buffer.alloc(0)
  #start = 0
  #end = 0
  #full: Buffer[] = []

  /** Bytes gathered and not taken yet. */
  get pendingBytes(): number {
    return this.#full.reduce((sum, part) => sum + part.length, this.#end - this.#start)
  }

  /**
   * Appends one frame.
   *
   * @throws {WireError} `WIRE_MALFORMED` where a field is outside its range; nothing is appended then.
   */
  write(frame: Frame): void {
    if (this.#end + frameBytesMax > this.#slab.length) this.#nextSlab()
    const slab = this.#slab
    let at = this.#end
    switch (frame.type) {
      case 'acquire':
        checkRange('wait', frame.waitSeconds, waitSecondsMin, waitSecondsMax)
        checkRange('lease', frame.leaseSeconds, leaseSecondsMin, leaseSecondsMax)
        slab[at++] = 0x41 // A
        slab[at++] = frame.waitSeconds
        slab[at++] = frame.leaseSeconds
        at = putKey(slab, putOwner(slab, at, frame.owner), frame.key)
        break
      case 'release':
      case 'released':
        slab[at++] = 0x52 // R
        at = putKey(slab, putToken(slab, at, frame.token), frame.key)
        break
      case 'granted':
        slab[at++] = 0x41 // A
        at = putKey(slab, putOwner(slab, putToken(slab, at, frame.token), frame.owner), frame.key)
        break
      case 'not-in-time':
        slab[at++] = 0x54 // T
        at = putKey(slab, putOwner(slab, at, frame.owner), frame.key)
        break
      case 'busy':
        slab[at++] = 0x42 // B
        at = putKey(slab, putOwner(slab, at, frame.owner), frame.key)
        break
      case 'not-current':
        slab[at++] = 0x4e // N
        at = putKey(slab, putToken(slab, at, frame.token), frame.key)
        break
      case 'moved':
        slab[at++] = 0x4d // M
        at = putAddress(slab, at, frame.address)
        break
      case 'leader':
        slab[at++] = 0x4c // L
        slab[at++] = frame.leads ? 0x2b : 0x2d // + or -
        if (frame.address !== undefined) at = putAddress(slab, at, frame.address)
        break
      case 'error':
        if (!/^[a-z0-9_]+$/.test(frame.reason) || frame.reason.length > errorReasonBytesMax) {
          throw new WireError('WIRE_MALFORMED', 'The reason of an error frame must be 1 to 32 of a-z, 0-9 and _.')
        }
        slab[at++] = 0x45 // E
        at += slab.write(frame.reason, at, 'latin1')
        break
      case 'ping':
      case 'pong':
        break
    }
    slab[at++] = newline
    this.#end = at
  }

  /** Hands over everything gathered so far, as one buffer, or `undefined` if there is nothing. */
  take(): Buffer | undefined {
    const last = this.#slab.subarray(this.#start, this.#end)
    this.#start = this.#end
    if (this.#full.length === 0) return last.length === 0 ? undefined : last
    const parts = [...this.#full, last]
    this.#full = []
    return Buffer.concat(parts)
  }

  #nextSlab(): void {
    const gathered = this.#slab.subarray(this.#start, this.#end)
    if (gathered.length > 0) this.#full.push(gathered)
    this.#slab = Buffer.allocUnsafeSlow(this.#full.length > 0 ? slabBytesInTurn : slabBytesAtRest)
    this.#start = 0
    this.#end = 0
  }
}

/**
 * One frame as its own buffer.
 *
 * @throws {WireError} as {@link FrameEncoder.write}.
 */
export function encodeFrame(frame: Frame): Buffer {
  const encoder = new FrameEncoder()
  encoder.write(frame)
  return encoder.take() ?? Buffer.alloc(0)
}

function checkRange(field: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new WireError('WIRE_MALFORMED', `The ${field} must be a whole number of seconds from ${min} to ${max}.`)
  }
}

function putToken(slab: Buffer, at: number, token: bigint): number {
  if (token < tokenMin || token > tokenMax) {
    throw new WireError('WIRE_MALFORMED', 'A token must be from 1 to 2^63 - 1.')
  }
  return slab.writeBigUInt64BE(token, at)
}

function putOwner(slab: Buffer, at: number, owner: string): number {
  if (owner.length !== ownerBytes) {
    throw new WireError('WIRE_MALFORMED', 'An owner must be 16 bytes, given as 16 characters U+0000 to U+00FF.')
  }
  for (let i = 0; i < ownerBytes; i++) {
    const byte = owner.charCodeAt(i)
    if (byte > 0xff) throw new WireError('WIRE_MALFORMED', 'An owner must be 16 characters U+0000 to U+00FF.')
    slab[at + i] = byte
  }
  return at + ownerBytes
}

function putKey(slab: Buffer, at: number, key: string): number {
  const fault = keyFault(key)
  if (fault !== undefined) throw new WireError('WIRE_MALFORMED', `The key ${fault}.`)
  return at + slab.write(key, at, 'utf8')
}

function putAddress(slab: Buffer, at: number, address: string): number {
  if (parseAddress(address) === undefined) {
    throw new WireError('WIRE_MALFORMED', 'An address must be host:port, at most 259 bytes of ASCII.')
  }
  return at + slab.write(address, at, 'latin1')
}
