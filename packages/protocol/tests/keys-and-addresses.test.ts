import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareKeys, formatAddress, keyFault, parseAddress } from '../src/index.js'
import { address, key } from './arbitrary-frames.js'
import { runs } from './random-runs.js'

describe('key rule', () => {
  it.each(['a', 'account:1', 'é'.repeat(64), 'k'.repeat(128), '\u0080', '\ufeffbom', '鍵/\u{1f511}', '\u00a0'])(
    'words: %j is a key',
    (text) => expect(keyFault(text)).toBeUndefined(),
  )

  it.each<[unknown, RegExp]>([
    ['', /empty.*1 to 128/],
    ['k'.repeat(129), /129 bytes.*1 to 128/],
    ['é'.repeat(65), /130 bytes.*1 to 128/],
    ['a b', /U\+0020 at position 1/],
    ['\0', /U\+0000 at position 0/],
    ['ab\u007f', /U\+007F at position 2/],
    ['a\ud800', /lone surrogate at position 1/],
    ['\udc00\ud800', /lone surrogate at position 0/],
    ['\udc00\udc00', /lone surrogate at position 0/],
    ['\ud800\ud800', /lone surrogate at position 0/],
    [null, /string, not null/],
    [1, /string, not number/],
  ])('words: %j is no key, and the fault says why', (text, fault) => expect(keyFault(text)).toMatch(fault))

  it('F8: keys are ordered by their UTF-8 bytes, not by UTF-16 units', () => {
    expect(compareKeys('\uff5e', '\u{1f600}')).toBeLessThan(0)
    expect('\uff5e' < '\u{1f600}').toBe(false)
    fc.assert(
      fc.property(key, key, (a, b) => {
        const [codePointsA, codePointsB] = [[...a], [...b]].map((signs) => signs.map((sign) => sign.codePointAt(0)))
        expect(Math.sign(compareKeys(a, b))).toBe(compareLists(codePointsA as number[], codePointsB as number[]))
      }),
      runs(500),
    )
  })
})

/** UTF-8 bytes are ordered as code points are. */
function compareLists(a: readonly number[], b: readonly number[]): number {
  for (const [index, one] of a.entries()) {
    const other = b[index]
    if (other === undefined) return 1
    if (one !== other) return Math.sign(one - other)
  }
  return a.length === b.length ? 0 : -1
}

describe('addresses', () => {
  it('wire: every address is read and written back as it was', () => {
    fc.assert(
      fc.property(address, (text) => {
        const parsed = parseAddress(text)
        expect(parsed && formatAddress(parsed)).toBe(text)
      }),
      runs(300),
    )
  })

  it.each<[string, string, number]>([
    ['127.0.0.1:5225', '127.0.0.1', 5225],
    ['[::1]:0', '::1', 0],
    [`${'h'.repeat(254)}:5225`, 'h'.repeat(254), 5225],
  ])('wire: %s is host and port', (text, host, port) => expect(parseAddress(text)).toEqual({ host, port }))

  it.each(['', ':5225', 'host', 'host:', 'host:x', 'host:-1', 'host:65536', '::1:5225', '[::1]', '[host]:1', 'a b:1'])(
    'wire: %j is no address',
    (text) => expect(parseAddress(text)).toBeUndefined(),
  )
})
