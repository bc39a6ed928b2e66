import { expect, it } from 'vitest'
import { TokenSequence, tokenSeed, tokenSeedMax } from '../src/internal.js'

it('S10: the seed is past the last token and past the wall clock × 2^20', () => {
  expect(tokenSeed(0n, 1000)).toBe(1000n * 2n ** 20n)
  expect(tokenSeed(1000n * 2n ** 20n - 1n, 1000)).toBe(1000n * 2n ** 20n)
  expect(tokenSeed(1000n * 2n ** 20n, 1000)).toBe(1000n * 2n ** 20n + 1n)
  expect(tokenSeed(7n, 0), 'a clock set back loses nothing').toBe(8n)
  expect(tokenSeed(0n, 1000.9)).toBe(1000n * 2n ** 20n)
})

it('S10: a seed above 2^62 is refused, and the fault names what is too high', () => {
  const lastMillisecond = Number(tokenSeedMax / 2n ** 20n)
  expect(tokenSeed(0n, lastMillisecond)).toBe(tokenSeedMax)
  expect(() => tokenSeed(0n, lastMillisecond + 1)).toThrow(/above 2\^62: the wall clock/)
  expect(tokenSeed(tokenSeedMax - 1n, 0)).toBe(tokenSeedMax)
  expect(() => tokenSeed(tokenSeedMax, 0)).toThrow(/above 2\^62: the last stored token/)
})

it('S10: tokens grow by one from the seed', () => {
  const tokens = new TokenSequence(2n ** 53n)
  expect([tokens.next(), tokens.next(), tokens.next()]).toEqual([2n ** 53n, 2n ** 53n + 1n, 2n ** 53n + 2n])
})
