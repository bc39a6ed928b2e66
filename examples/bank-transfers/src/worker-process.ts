import { TicketError } from '@ticketing/client'
import { FenceError } from '@ticketing/core'
import { codeOf } from './demo-error.js'
import { type Random, randomOrder, randomStream } from './random.js'
import type { Section } from './sections.js'
import { serveParent } from './served-process.js'
import { type RunSettings, workerTimes } from './settings.js'
import { openSurroundings, sectionsFor } from './surroundings.js'
import { keysOf, transfer } from './transfer.js'

/** Some of a run's workers, all in one process. */
export interface WorkerTask {
  readonly settings: RunSettings
  readonly firstWorker: number
  readonly workers: number
}

export type WorkerReport = ({ readonly type: 'progress' } & WorkerTally) | ({ readonly type: 'finished' } & WorkerTally)

export interface WorkerTally {
  /** Sections that reported success. */
  readonly done: number
  /** Sections that were refused, by code. None of them wrote anything. */
  readonly refused: Readonly<Record<string, number>>
}

const progressMilliseconds = 200

/** Codes after which a worker simply goes on with its next transfer. Any other error ends the run. */
const refusals = new Set([
  ...['TICKET_TIMEOUT', 'TICKET_BUSY', 'TICKET_INDETERMINATE', 'TICKET_LEASE_TOO_SHORT'],
  ...['FENCE_STALE_TOKEN', 'FENCE_BLOCKED', 'FENCE_LEASE_TOO_SHORT', 'FENCE_LEASE_EXPIRED'],
])

serveParent<WorkerTask, WorkerReport>(async ({ settings, firstWorker, workers }, report, stop) => {
  await using surroundings = openSurroundings(settings, workers)
  const section = sectionsFor(settings, surroundings.pool, surroundings.broker, workerTimes)
  const tally = { done: 0, refused: {} as Record<string, number> }
  const progress = setInterval(() => report({ type: 'progress', ...tally }), progressMilliseconds)
  try {
    const numbers = Array.from({ length: workers }, (_, index) => firstWorker + index)
    const streams = numbers.map((number) => randomStream(settings.seed, number))
    await Promise.all(streams.map((random) => runWorker(section, random, settings.accounts, tally, stop)))
  } finally {
    clearInterval(progress)
  }
  report({ type: 'finished', ...tally })
})

/** One worker: one random transfer after another. */
async function runWorker(
  section: Section,
  random: Random,
  accounts: number,
  tally: { done: number; refused: Record<string, number> },
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    const order = randomOrder(random, accounts)
    try {
      await section(keysOf(order), (tx, tokenOf) => transfer(tx, order, tokenOf))
      tally.done++
    } catch (error) {
      const code = codeOf(error)
      const known = error instanceof FenceError || error instanceof TicketError
      if (!known || code === undefined || !refusals.has(code)) throw error
      tally.refused[code] = (tally.refused[code] ?? 0) + 1
    }
  }
}
