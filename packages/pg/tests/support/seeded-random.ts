/** Random numbers that a seed repeats. */
export interface Random {
  /** A whole number from 0 to `limit` − 1. */
  below(limit: number): number
}

const seedVariable = 'TICKETING_SEED'

/** The seed of `TICKETING_SEED`, or a fresh one. A test that uses it says it in its failure. */
export function seedOfThisRun(environment: NodeJS.ProcessEnv = process.env): number {
  const given = environment[seedVariable]
  if (given === undefined || given === '') return Math.floor(Math.random() * 2 ** 31)
  const seed = Number(given)
  if (Number.isSafeInteger(seed)) return seed
  throw new Error(`${seedVariable} must be a whole number, not ${JSON.stringify(given)}.`)
}

/** Mulberry32: small, and good enough to scatter stalls. */
export function seededRandom(seed: number): Random {
  let state = seed | 0
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return { below: (limit) => Math.floor(next() * limit) }
}
