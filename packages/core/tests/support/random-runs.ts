/**
 * How often a property is tried. A failure prints its seed; TICKETING_SEED repeats that run.
 */
export function runs(numRuns: number): { numRuns: number; seed?: number } {
  const seed = process.env.TICKETING_SEED
  return seed === undefined ? { numRuns } : { numRuns, seed: Number(seed) }
}
