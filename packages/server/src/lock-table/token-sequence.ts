/** A seed above this would leave too few tokens before 2^63 - 1, the last that the wire and databases can hold (S10). */
export const tokenSeedMax = 2n ** 62n

const tokensPerMillisecond = 2n ** 20n

/**
 * The first token that a start may issue (S10): past the last one that is known to be issued, and past all that an
 * earlier start could have issued by the wall clock.
 *
 * @param last The last token issued by earlier starts, if it was stored; 0 otherwise.
 * @param unixMilliseconds The wall clock.
 * @throws {RangeError} where the seed would be above 2^62.
 */
export function tokenSeed(last: bigint, unixMilliseconds: number): bigint {
  const byClock = BigInt(Math.trunc(unixMilliseconds)) * tokensPerMillisecond
  const seed = last + 1n > byClock ? last + 1n : byClock
  if (seed > tokenSeedMax) {
    throw new RangeError(
      `The first token would be ${seed}, above 2^62: ${last >= byClock ? 'the last stored token' : 'the wall clock'} is too high.`,
    )
  }
  return seed
}

/** Issues tokens, each exactly one above the one before. */
export class TokenSequence {
  #next: bigint

  /** @param first The first token, as {@link tokenSeed} gives it. */
  constructor(first: bigint) {
    this.#next = first
  }

  next(): bigint {
    return this.#next++
  }
}
