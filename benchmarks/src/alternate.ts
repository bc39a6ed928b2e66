import { median } from './statistics.js'

/** One way of doing the same work; `run` does it once, as the worker of that number. */
export interface Contender {
  readonly name: string
  run(worker: number): Promise<unknown>
}

/** What one contender did in one round. */
export interface Round {
  /** Median of the times of one run, in microseconds. */
  readonly p50Microseconds: number
  readonly perSecond: number
}

export interface AlternateSettings {
  readonly workers: number
  readonly rounds: number
  readonly secondsPerTurn: number
}

/**
 * Lets the contenders take turns, round after round, so that whatever the machine does meanwhile hits all of them. The
 * first round warms up and does not count, and every second round goes backwards, so that nobody always follows the same one.
 */
export async function alternate(
  contenders: readonly Contender[],
  settings: AlternateSettings,
): Promise<Map<string, Round[]>> {
  const results = new Map(contenders.map(({ name }) => [name, [] as Round[]]))
  for (let round = 0; round <= settings.rounds; round++) {
    const order = round % 2 === 0 ? contenders : contenders.toReversed()
    for (const contender of order) {
      const result = await turn(contender, settings)
      if (round > 0) results.get(contender.name)?.push(result)
    }
  }
  return results
}

async function turn(contender: Contender, settings: AlternateSettings): Promise<Round> {
  const samples: number[] = []
  const started = performance.now()
  const end = started + settings.secondsPerTurn * 1000
  const worker = async (number: number) => {
    for (let now = performance.now(); now < end; ) {
      await contender.run(number)
      const after = performance.now()
      samples.push(after - now)
      now = after
    }
  }
  await Promise.all(Array.from({ length: settings.workers }, (_, number) => worker(number)))
  const seconds = (performance.now() - started) / 1000
  return { p50Microseconds: median(samples) * 1000, perSecond: samples.length / seconds }
}

/** The median over the rounds of a figure, and of its ratio to the first contender's in the same round. */
export function compare(
  results: Map<string, Round[]>,
  figure: keyof Round,
): { name: string; value: number; ratio: number }[] {
  const [base] = results.values()
  return [...results].map(([name, rounds]) => ({
    name,
    value: median(rounds.map((round) => round[figure])),
    ratio: median(rounds.map((round, index) => round[figure] / (base?.[index]?.[figure] ?? Number.NaN))),
  }))
}
