import { createHmac, timingSafeEqual } from 'node:crypto'
import { errorReasonBytesMax, handshakeLineBytesMax, nonceBytes } from './limits.js'
import { WireError } from './wire-error.js'

const word = 'TKT2'
const algorithm = 'hmac-sha256'
const context = Buffer.from('ticketing/2 client\0', 'latin1')
const digestBytes = 32
const base64url = /^[A-Za-z0-9_-]+$/

/** What a server's first line says: its nonce, or that it refuses the session. */
export type Greeting =
  | { readonly type: 'greeting'; readonly nonce: Buffer }
  | { readonly type: 'error'; readonly reason: string }

/** The server's first line, newline included. */
export function encodeGreeting(nonce: Uint8Array): Buffer {
  return Buffer.from(`${word} ${algorithm} ${Buffer.from(nonce).toString('base64url')}\n`, 'latin1')
}

/**
 * Reads the server's first line, without its newline.
 *
 * @throws {WireError} `WIRE_VERSION` for another protocol word or algorithm, `WIRE_MALFORMED` for a bad nonce.
 */
export function parseGreeting(line: string): Greeting {
  if (/^E[a-z0-9_]+$/.test(line) && line.length <= 1 + errorReasonBytesMax) {
    return { type: 'error', reason: line.slice(1) }
  }
  const [first, second, third, ...rest] = line.split(' ')
  if (first !== word || second !== algorithm) {
    throw new WireError(
      'WIRE_VERSION',
      `The server does not speak Ticketing wire version 2: expected a greeting "${word} ${algorithm} …", got ${JSON.stringify(line.slice(0, 40))}.`,
    )
  }
  const nonce = third !== undefined && base64url.test(third) ? Buffer.from(third, 'base64url') : Buffer.alloc(0)
  if (nonce.length !== nonceBytes || rest.length > 0) {
    throw new WireError('WIRE_MALFORMED', "The server's greeting carries no nonce of 32 bytes.")
  }
  return { type: 'greeting', nonce }
}

/** HMAC-SHA-256(secret, "ticketing/2 client" ‖ 0x00 ‖ nonce). Without a secret the client uses the empty one. */
export function handshakeDigest(secret: string, nonce: Uint8Array): Buffer {
  return createHmac('sha256', Buffer.from(secret, 'utf8')).update(context).update(nonce).digest()
}

/** The client's answer, newline included. */
export function encodeDigest(digest: Uint8Array): Buffer {
  return Buffer.from(`${Buffer.from(digest).toString('base64url')}\n`, 'latin1')
}

/**
 * Reads the client's answer, without its newline.
 *
 * @throws {WireError} `WIRE_MALFORMED` where it is not the base64url of 32 bytes.
 */
export function parseDigest(line: string): Buffer {
  const digest = base64url.test(line) ? Buffer.from(line, 'base64url') : Buffer.alloc(0)
  if (digest.length !== digestBytes) throw new WireError('WIRE_MALFORMED', 'The handshake digest is not 32 bytes.')
  return digest
}

/**
 * Whether the digest was made with one of the secrets. Every secret is compared, each in constant time, so that the time
 * tells neither whether one matched nor which. A digest of another length than 32 bytes matches none.
 */
export function digestMatches(digest: Uint8Array, nonce: Uint8Array, secrets: readonly string[]): boolean {
  if (digest.length !== digestBytes) return false
  let matches = false
  for (const secret of secrets) {
    if (timingSafeEqual(digest, handshakeDigest(secret, nonce))) matches = true
  }
  return matches
}

/** Collects one handshake line from chunks cut anywhere. */
export class HandshakeLine {
  #held = Buffer.alloc(0)

  /**
   * Takes a chunk; answers the line without its newline, and the bytes behind it, once it is complete.
   *
   * @throws {WireError} `WIRE_OVERSIZED` past 256 bytes, `WIRE_MALFORMED` for bytes outside printable ASCII.
   */
  push(chunk: Uint8Array): { readonly line: string; readonly rest: Buffer } | undefined {
    const bytes = Buffer.concat([this.#held, chunk.subarray(0, handshakeLineBytesMax)])
    const end = bytes.indexOf(0x0a)
    if (end >= handshakeLineBytesMax || (end === -1 && bytes.length >= handshakeLineBytesMax)) {
      throw new WireError('WIRE_OVERSIZED', `A handshake line passes ${handshakeLineBytesMax} bytes.`)
    }
    if (end === -1) {
      this.#held = bytes
      return undefined
    }
    const line = bytes.toString('latin1', 0, end)
    if (!/^[\x20-\x7e]*$/.test(line)) throw new WireError('WIRE_MALFORMED', 'A handshake line is not printable ASCII.')
    const consumed = end + 1 - this.#held.length
    this.#held = Buffer.alloc(0)
    return { line, rest: Buffer.from(chunk.subarray(consumed)) }
  }
}
