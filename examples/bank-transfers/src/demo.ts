import { setTimeout as delay } from 'node:timers/promises'
import { audit, rowsUnder } from './audit.js'
import { Bank } from './bank.js'
import type { Child } from './child.js'
import type { DemoOptions } from './command-line.js'
import { type Stall, startStalls, startWorkers, tallyOf } from './crew.js'
import { DemoError } from './demo-error.js'
import { account, isWell, type RunResult } from './report/account.js'
import { introduction } from './report/introduction.js'
import { progressText, showProgress } from './report/progress.js'
import { type ToldStall, timeline } from './report/timeline.js'
import { openBroker, openDatabase, openServer } from './services.js'
import type { RunSettings } from './settings.js'
import { boundText, stallFaults } from './stall-verdict.js'
import type { WorkerReport } from './worker-process.js'

/**
 * Runs the demo to its end and prints it.
 *
 * @returns whether everything adds up.
 * @throws {DemoError} when it could not be run; the signal's reason when it was interrupted.
 */
export async function runDemo(
  options: DemoOptions,
  signal: AbortSignal,
  print: (text: string) => void,
): Promise<boolean> {
  if (process.platform === 'win32') throw new DemoError('Windows has no SIGSTOP, so nothing was run: try WSL.')
  await using database = await openDatabase(options.databaseUrl)
  signal.throwIfAborted()
  await using server = await openServer(options.server)
  await using broker = await openBroker(server.access, options.clientToken)
  await using bank = await Bank.open(database.access, broker, options.accounts)
  signal.throwIfAborted()
  print(introduction(options, `PostgreSQL ${bank.postgresMajor}, ${database.name}`, server.name))

  const settings: RunSettings = {
    databaseUrl: database.access,
    servers: server.access,
    clientToken: options.clientToken,
    fenced: !options.unfenced,
    workers: options.workers,
    accounts: options.accounts,
    seed: options.seed,
  }
  await using workers = startWorkers(settings)
  await using stalls = startStalls(settings)
  const { told, seconds } = await watchRun(workers.members, stalls.members, options.seconds, signal)

  const bound = boundText(bank.postgresMajor)
  for (const [index, stall] of told.entries()) print(timeline(stall, index, bound))
  const result = await judge(bank, workers.members, told, seconds)
  print(account(result))
  return isWell(result)
}

/** Shows the progress until the time is over and both holders have told their story, and then stops the workers. */
async function watchRun(
  workers: readonly Child<WorkerReport>[],
  stalls: readonly Stall[],
  seconds: number,
  signal: AbortSignal,
): Promise<{ readonly told: readonly ToldStall[]; readonly seconds: number }> {
  await unlessAborted(signal, Promise.all(workers.map((worker) => worker.report('progress'))))
  const began = performance.now()
  const secondsSoFar = () => (performance.now() - began) / 1000
  const endProgress = showProgress(() => {
    return progressText(secondsSoFar(), tallyOf(workers), stalls.map(phaseOf))
  })

  try {
    const finished = Promise.all(workers.map((worker) => worker.report('finished')))
    const stories = Promise.all(
      stalls.map(async ({ child, ...plan }) => ({ ...plan, over: await child.report('over') })),
    )
    const time = delay(seconds * 1000, undefined, { ref: false })
    // A worker finishes only when it is asked to, so `finished` can only come first by failing.
    await unlessAborted(signal, Promise.race([Promise.all([time, stories]), finished]))
    for (const worker of workers) worker.askToStop()
    const worked = secondsSoFar()
    await unlessAborted(signal, finished)
    return { told: await stories, seconds: worked }
  } finally {
    endProgress()
  }
}

function phaseOf({ child }: Stall): string {
  const over = child.latest('over')
  if (over !== undefined) return over.ended.refusal === undefined ? 'committed' : 'refused'
  return child.latest('phase')?.phase ?? 'starts'
}

/** Adds up the books and puts together what the run is judged by. */
async function judge(
  bank: Bank,
  workers: readonly Child<WorkerReport>[],
  told: readonly ToldStall[],
  seconds: number,
): Promise<RunResult> {
  const tally = tallyOf(workers)
  const refused = { ...tally.refused }
  const faults: string[] = []
  let done = tally.done
  for (const [index, { stopPoint, over }] of told.entries()) {
    const { refusal } = over.ended
    if ('committedAt' in over.successor) done++
    if (refusal === undefined) done++
    else refused[refusal.code] = (refused[refusal.code] ?? 0) + 1

    const landed = await rowsUnder(bank.pool, [...over.granted.tokens.values()])
    const wrong = [...stallFaults(stopPoint, over)]
    if (landed > 0) wrong.push(`the stopped holder's transfer stands in the ledger, ${landed} rows`)
    faults.push(...wrong.map((fault) => `holder ${index + 1}: ${fault}`))
  }
  return { seconds, done, refused, sumBefore: bank.sumBefore, audit: await audit(bank.pool), faults }
}

function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const aborted = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error)
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
  return Promise.race([promise, aborted])
}
