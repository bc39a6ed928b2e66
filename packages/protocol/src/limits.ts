/**
 * The limits of wire format version 2, in one place. Ranges are inclusive.
 * A change of one is a change of the wire format.
 */

/** Bytes of a key, as UTF-8. */
export const keyBytesMin = 1
export const keyBytesMax = 128

/** Bytes of the owner that names one acquire request. */
export const ownerBytes = 16

/** Whole seconds that a grant may hold if nobody releases it. */
export const leaseSecondsMin = 1
export const leaseSecondsMax = 250

/** Whole seconds that an acquire may queue; 0 is one immediate try. */
export const waitSecondsMin = 0
export const waitSecondsMax = 255

/** Fencing tokens fill a signed 64-bit integer, so that every database can store one. */
export const tokenMin = 1n
export const tokenMax = 2n ** 63n - 1n

/** Bytes of `host:port` in ASCII; an IPv6 host stands in brackets. */
export const addressBytesMax = 259

/** Bytes of the reason in an `E` frame. */
export const errorReasonBytesMax = 32

/** Bytes of one handshake line, its newline included. */
export const handshakeLineBytesMax = 256

/** Seconds within which each handshake line must be complete. */
export const handshakeSecondsMax = 5

/** Bytes of the greeting's nonce. */
export const nonceBytes = 32

/** Bytes of the largest frame in either direction (an `L` with the longest address): letter, role, address, newline. */
export const frameBytesMax = 1 + 1 + addressBytesMax + 1

/** Bytes of the largest frame a client may send: an acquire with the longest key. */
export const clientFrameBytesMax = 1 + 1 + 1 + ownerBytes + keyBytesMax + 1

// The relations that the code relies on. A change that breaks one must not load.
const grantedBytesMax = 1 + 8 + ownerBytes + keyBytesMax + 1
if (grantedBytesMax > frameBytesMax || clientFrameBytesMax > frameBytesMax || handshakeLineBytesMax < nonceBytes * 2) {
  throw new Error('The limits of the wire format contradict each other.')
}
