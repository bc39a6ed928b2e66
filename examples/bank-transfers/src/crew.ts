import { Child } from './child.js'
import type { HolderTask, StopPoint } from './holder-process.js'
import { randomStream, separateOrders } from './random.js'
import type { RunSettings } from './settings.js'
import type { StallReport } from './stall-process.js'
import type { Order } from './transfer.js'
import type { WorkerReport, WorkerTally, WorkerTask } from './worker-process.js'

/** A holder that is going to be stopped, with its transfer. */
export interface Stall {
  readonly stopPoint: StopPoint
  readonly order: Order
  readonly child: Child<StallReport>
}

const workersPerProcess = 8
const processesMin = 2

/** Members of a run that end together, at the end of their scope. */
export interface Crew<Member> extends AsyncDisposable {
  readonly members: readonly Member[]
}

/** Starts the workers, spread over two processes or more. */
export function startWorkers(settings: RunSettings): Crew<Child<WorkerReport>> {
  const { workers } = settings
  const processes = Math.max(processesMin, Math.ceil(workers / workersPerProcess))
  const members = Array.from({ length: processes }, (_, index) => {
    const firstWorker = Math.floor((index * workers) / processes)
    const nextWorker = Math.floor(((index + 1) * workers) / processes)
    const task: WorkerTask = { settings, firstWorker, workers: nextWorker - firstWorker }
    return new Child<WorkerReport>('worker-process', task)
  })
  return { members, [Symbol.asyncDispose]: () => endAll(members) }
}

/** Starts the holders that are stopped, each on two accounts of its own that the workers use as well. */
export function startStalls(settings: RunSettings): Crew<Stall> {
  const stopPoints: readonly StopPoint[] = settings.fenced ? ['before-begin', 'in-transaction'] : ['after-read']
  // A stream that no worker has.
  const random = randomStream(settings.seed, settings.workers)
  const orders = separateOrders(random, settings.accounts, stopPoints.length)
  const members = orders.map((order, index) => {
    const stopPoint = stopPoints[index] as StopPoint
    const task: HolderTask = { settings, order, stopPoint }
    return { stopPoint, order, child: new Child<StallReport>('stall-process', task) }
  })
  return { members, [Symbol.asyncDispose]: () => endAll(members.map(({ child }) => child)) }
}

/** What the workers have done so far, together. */
export function tallyOf(workers: readonly Child<WorkerReport>[]): WorkerTally {
  const refused: Record<string, number> = {}
  let done = 0
  for (const worker of workers) {
    const tally = worker.latest('finished') ?? worker.latest('progress')
    done += tally?.done ?? 0
    for (const [code, count] of Object.entries(tally?.refused ?? {})) refused[code] = (refused[code] ?? 0) + count
  }
  return { done, refused }
}

async function endAll(children: readonly AsyncDisposable[]): Promise<void> {
  await Promise.all(children.map((child) => child[Symbol.asyncDispose]()))
}
