/**
 * What was wrong with the bytes:
 *
 * - `WIRE_MALFORMED`: the bytes are no frame or handshake line of this version, or a field is out of its range.
 * - `WIRE_OVERSIZED`: a frame or line would be longer than the format allows.
 * - `WIRE_UNKNOWN_FRAME`: the first byte of a frame is not a letter of this direction.
 * - `WIRE_VERSION`: the greeting is that of another protocol or version.
 */
export type WireErrorCode = 'WIRE_MALFORMED' | 'WIRE_OVERSIZED' | 'WIRE_UNKNOWN_FRAME' | 'WIRE_VERSION'

const brand = Symbol.for('@ticketing/protocol/WireError@1')

/**
 * Bytes or field values that the wire format does not allow. Whoever receives such bytes ends the session: what follows
 * them cannot be read. `instanceof` holds across copies of this package (ESM and CommonJS).
 */
export class WireError extends Error {
  override readonly name = 'WireError'
  readonly code: WireErrorCode

  constructor(code: WireErrorCode, message: string) {
    super(message)
    this.code = code
    Object.defineProperty(this, brand, { value: true })
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value
  }
}
