import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { Child } from './child.js'
import { DemoError, describe } from './demo-error.js'
import type { HolderEnded, HolderGranted, HolderReport, HolderStopped, HolderTask } from './holder-process.js'
import type { Section } from './sections.js'
import { serveParent } from './served-process.js'
import { stallLeaseSeconds, workerTimes } from './settings.js'
import { openSurroundings, sectionsFor } from './surroundings.js'
import { keysOf, type Order, transfer } from './transfer.js'

export type StallReport = { readonly type: 'phase'; readonly phase: StallPhase } | StallOver

export type StallPhase = 'queued' | 'held' | 'stopped' | 'overtaken' | 'woken'

/** All that happened. Times are Unix milliseconds of this machine's clock. */
export interface StallOver {
  readonly type: 'over'
  /** The key that the story is told of: the first of the two in the order in which they are acquired. */
  readonly key: string
  readonly granted: HolderGranted
  readonly stopped: HolderStopped
  /** When the database had ended the stopped holder's transaction; only where it was stopped inside one. */
  readonly databaseEndedAt: number | undefined
  readonly successor: Successor | RefusedSuccessor
  readonly wokenAt: number
  readonly ended: HolderEnded
}

/** The section that got in while the holder stood still, on the same accounts. */
export interface Successor {
  readonly token: bigint
  readonly enteredAt: number
  readonly committedAt: number
}

/** The next holder did not get in while the stopped one stood still. */
export interface RefusedSuccessor {
  readonly refusedAt: number
  readonly message: string
}

/** The other workers go on with the overtaken accounts for this long before the holder is woken. */
const headStartMilliseconds = 600
const pollMilliseconds = 10
/** A transaction that the database has not ended by then counts as not ended. */
const databaseEndSecondsMax = 3 * stallLeaseSeconds

// This process starts the holder, so that somebody who is awake ends it with the demo: a stopped process cannot.
serveParent<HolderTask, StallReport>(async (task, report) => {
  await using surroundings = openSurroundings(task.settings, 2)
  const { pool, broker } = surroundings
  const section = sectionsFor(task.settings, pool, broker, workerTimes)
  report({ type: 'phase', phase: 'queued' })

  const holder = new Child<HolderReport>('holder-process', task)
  process.once('exit', () => holder.signal('SIGKILL'))
  const granted = await heardFrom(holder, 'granted')
  report({ type: 'phase', phase: 'held' })
  const key = [...granted.tokens.keys()][0] as string
  const successor = runSuccessor(section, reversed(task.order), key)

  const stopped = await heardFrom(holder, 'stopped')
  report({ type: 'phase', phase: 'stopped' })
  const seenEndedAt = task.stopPoint === 'in-transaction' ? await transactionEnd(pool, granted.backendId) : undefined
  const overtaken = await successor
  // A next holder that got past the stopped one's row locks proves the end, perhaps before it was seen.
  const provenEndedAt = 'enteredAt' in overtaken ? overtaken.enteredAt : Number.POSITIVE_INFINITY
  const databaseEndedAt = seenEndedAt === undefined ? undefined : Math.min(seenEndedAt, provenEndedAt)
  report({ type: 'phase', phase: 'overtaken' })
  await delay(headStartMilliseconds)

  const wokenAt = Date.now()
  holder.signal('SIGCONT')
  report({ type: 'phase', phase: 'woken' })
  const ended = await holder.report('ended')
  report({ type: 'over', key, granted, stopped, databaseEndedAt, successor: overtaken, wokenAt, ended })
})

/** The holder's next report. A holder that was refused before it could be stopped says why. */
async function heardFrom<Type extends 'granted' | 'stopped'>(holder: Child<HolderReport>, type: Type) {
  try {
    return await holder.report(type)
  } catch (error) {
    const refusal = holder.latest('ended')?.refusal
    if (refusal === undefined) throw error
    throw new DemoError(`A holder was refused before it could be stopped: ${refusal.message}`)
  }
}

/** A transfer the other way round on the same accounts. It queues while the holder still has them. */
async function runSuccessor(section: Section, order: Order, key: string): Promise<Successor | RefusedSuccessor> {
  let token = 0n
  let enteredAt = 0
  try {
    await section(keysOf(order), async (tx, tokenOf) => {
      token = tokenOf(key)
      enteredAt = Date.now()
      await transfer(tx, order, tokenOf)
    })
    return { token, enteredAt, committedAt: Date.now() }
  } catch (error) {
    return { refusedAt: Date.now(), message: describe(error) }
  }
}

function reversed({ from, to, amount }: Order): Order {
  return { from: to, to: from, amount }
}

/** Watches a database session until it is in no transaction any more. */
async function transactionEnd(pool: pg.Pool, backendId: number): Promise<number | undefined> {
  const deadline = Date.now() + databaseEndSecondsMax * 1000
  while (Date.now() < deadline) {
    const { rowCount } = await pool.query('SELECT FROM pg_stat_activity WHERE pid = $1 AND xact_start IS NOT NULL', [
      backendId,
    ])
    if (rowCount === 0) return Date.now()
    await delay(pollMilliseconds)
  }
  return undefined
}
