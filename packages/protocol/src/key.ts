import { keyBytesMax, keyBytesMin } from './limits.js'

/**
 * Says why `key` breaks the key rule, or `undefined` if it is a key: 1–128 bytes of well-formed UTF-8, no code point at
 * or below U+0020 and no U+007F. The text completes a sentence that starts with "the key".
 */
export function keyFault(key: unknown): string | undefined {
  if (typeof key !== 'string') return `must be a string, not ${key === null ? 'null' : typeof key}`
  if (key.length === 0) return 'is empty; it must have 1 to 128 bytes of UTF-8'
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i)
    if (unit <= 0x20 || unit === 0x7f) {
      return `contains U+${unit.toString(16).toUpperCase().padStart(4, '0')} at position ${i}; spaces and control characters are not allowed`
    }
    if (unit >= 0xd800 && unit <= 0xdfff) {
      const next = key.charCodeAt(i + 1)
      if (unit >= 0xdc00 || !(next >= 0xdc00 && next <= 0xdfff)) {
        return `contains a lone surrogate at position ${i}, which has no UTF-8 form`
      }
      i++
    }
  }
  const bytes = Buffer.byteLength(key, 'utf8')
  if (bytes < keyBytesMin || bytes > keyBytesMax) return `has ${bytes} bytes of UTF-8; it must have 1 to 128`
  return undefined
}

/** Compares two keys by their UTF-8 bytes (F8); JavaScript's own order differs above U+FFFF. */
export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a, 'utf8'), Buffer.from(b, 'utf8'))
}
