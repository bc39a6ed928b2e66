import { ownerBytes } from '@ticketing/protocol'

const counterBytes = 6
const prefixBytes = ownerBytes - counterBytes

/**
 * Makes the owners of one broker's acquires: a random prefix, which keeps brokers apart, and a counter, which keeps
 * their requests apart. No owner is ever used for a second request (C3, C5).
 */
export class OwnerSequence {
  readonly #prefix: string
  #count = 0

  constructor(randomBytes: (count: number) => Uint8Array) {
    this.#prefix = String.fromCharCode(...randomBytes(prefixBytes))
  }

  next(): string {
    const high = Math.floor(this.#count / 2 ** 24)
    const low = this.#count % 2 ** 24
    this.#count++
    return this.#prefix + threeBytes(high) + threeBytes(low)
  }
}

function threeBytes(value: number): string {
  return String.fromCharCode((value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff)
}
