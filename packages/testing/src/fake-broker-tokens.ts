const tokensPerMillisecond = 2n ** 20n

let lastSeed = 0n

/**
 * The token before a fake broker's first, by the wall clock, as a server without a data directory chooses it (S10): a
 * database that has seen the tokens of an earlier fake takes those of a later one.
 */
export function seedByClock(): bigint {
  const byClock = BigInt(Date.now()) * tokensPerMillisecond
  lastSeed = byClock > lastSeed ? byClock : lastSeed + tokensPerMillisecond
  return lastSeed
}
