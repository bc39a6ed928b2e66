import type { Broker } from '@ticketing/client'
import { checkTransaction, explainClaimError, explainCommitError, leaseExpired } from './commit-outcome.js'
import type { FenceTables } from './dialects/dialect.js'
import { FenceError } from './fence-errors.js'
import type { FenceReporter } from './fence-events.js'
import { claimHighWater } from './high-water.js'
import { Interrupted, Interruption } from './interruption.js'
import { endedByBound, leaseIsOver, remainingMilliseconds, requireLease } from './lease-check.js'
import { refuseNested, runInside } from './nested-sections.js'
import type { AcquiringSettings, SectionSettings } from './section-options.js'
import { acquireTickets, type SectionTicket, type SectionTickets } from './section-tickets.js'
import type { MonotonicClock } from './system-clock.js'
import type { HostTransaction, TransactionHost } from './transaction-host.js'

/** What a section belongs to. */
export interface FenceContext<Handle> {
  readonly fence: object
  readonly host: TransactionHost<Handle, unknown>
  readonly broker: Broker
  readonly tables: FenceTables
  readonly reporter: FenceReporter
  readonly clock: MonotonicClock
}

/** The critical section itself. Its statements go through `tx`; `ticket` tells the token and the time that is left. */
export type SectionWork<Handle, R> = (tx: Handle, ticket: SectionTicket) => R | PromiseLike<R>

/** How far an attempt came; what a failure means depends on it. */
type Phase = 'connecting' | 'claiming' | 'working' | 'ending' | 'committing'

/** The whole order of a section (F1–F15): acquire, one fenced transaction, release. */
export async function runFencedSection<Handle, R>(
  context: FenceContext<Handle>,
  settings: AcquiringSettings,
  work: SectionWork<Handle, R>,
): Promise<Awaited<R>> {
  const { fence, host, broker, tables, clock, reporter } = context
  refuseNested({ fence, pool: host.pool, table: tables.name }, settings.keys) // F9
  const tickets = await acquireTickets(broker, settings, clock, reporter) // F3: before a connection is taken
  try {
    return await runWithTickets(context, settings, tickets, work)
  } finally {
    tickets.release(reporter) // F10: after the end of the transaction, and without waiting for the answer
  }
}

/** The part of a section between acquire and release; the whole of it where the caller has its tickets already. */
export async function runWithTickets<Handle, R>(
  context: FenceContext<Handle>,
  settings: SectionSettings,
  tickets: SectionTickets,
  work: SectionWork<Handle, R>,
): Promise<Awaited<R>> {
  const { fence, host, tables, reporter } = context
  refuseNested({ fence, pool: host.pool, table: tables.name }, settings.keys) // F9
  requireLease(tickets, settings.minWorkSeconds) // F8: the wait for the last key may have cost too much of the first
  for (let attempt = 1, reruns = 0; ; attempt++) {
    const end = await runAttempt(context, settings, tickets, work)
    if (end.committed) return end.result
    if (end.retryable === undefined) throw end.error
    // F15: with too little lease for another run, the work's own error is still what its caller gets.
    if (end.retryable === 'work' && (++reruns > settings.retries || tickets.remaining() < settings.minWorkSeconds)) {
      throw end.error
    }
    reporter.report('retry', { keys: settings.keys, attempt, of: end.retryable, error: end.error })
  }
}

type AttemptEnd<R> =
  | { readonly committed: true; readonly result: R }
  | { readonly committed: false; readonly error: unknown; readonly retryable: 'claim' | 'work' | undefined }

/** One transaction. It never throws: how it ended decides whether another may follow under the same tickets (F5). */
async function runAttempt<Handle, R>(
  context: FenceContext<Handle>,
  settings: SectionSettings,
  tickets: SectionTickets,
  work: SectionWork<Handle, R>,
): Promise<AttemptEnd<Awaited<R>>> {
  const { host, tables, reporter } = context
  const interruption = new Interruption(tickets.signal, settings.signal)
  let phase: Phase = 'connecting'
  let opened: HostTransaction<Handle> | undefined
  try {
    const result = await host.transaction(
      {
        isolation: settings.isolation,
        connecting: interruption.or,
        remainingMilliseconds: () => remainingMilliseconds(tickets),
        onConnectionDestroyed: (error) => reporter.report('connection-destroyed', { error }),
      },
      async (tx) => {
        opened = tx
        try {
          requireLease(tickets, settings.minWorkSeconds) // F3: again, now that a connection is there
          phase = 'claiming'
          const claim = claimHighWater(tx, host.dialect, tables, tickets, Math.max(1, remainingMilliseconds(tickets))) // F1
          // A claim on its way is answered, also past the lease: its refusal tells more, and the database bounds it (F4).
          const receipt = await interruption.orCancelled(claim)
          requireLease(tickets, 0)
          phase = 'working'
          const result = await runWork(context, tx, tickets, work, interruption.or)
          phase = 'ending'
          await interruption.or(tx.end()) // F14
          await interruption.or(checkTransaction(host, tx, receipt)) // F12
          requireLease(tickets, 0) // F1: no COMMIT is sent after the lease
          phase = 'committing'
          return result
        } finally {
          interruption.stop() // F15: once COMMIT or ROLLBACK is queued, a signal has no effect
          void tx.end()
        }
      },
    )
    return { committed: true, result }
  } catch (error) {
    return failedAttempt(context, tickets, phase, opened, error)
  } finally {
    interruption.stop()
  }
}

/** Runs the work inside its section's async context; whatever ends the wait, the context is dead from then on (F9). */
async function runWork<Handle, R>(
  context: FenceContext<Handle>,
  tx: HostTransaction<Handle>,
  tickets: SectionTickets,
  work: SectionWork<Handle, R>,
  interruptible: <T>(promise: Promise<T>) => Promise<T>,
): Promise<Awaited<R>> {
  const { fence, host, tables, reporter } = context
  const { keys } = tickets
  const [section, running] = runInside(
    { fence, pool: host.pool, table: tables.name, keys, handle: tx.handle },
    async () => await work(tx.handle, tickets),
  )
  let waiting = true
  // Nobody else listens once the wait is over: without this, late failures would be unhandled rejections.
  running.catch((error: unknown) => {
    if (!waiting) reporter.report('late-failure', { keys, error })
  })
  try {
    return await interruptible(running)
  } finally {
    waiting = false
    section.live = false
  }
}

/** What a failed attempt means to the caller, by how far it came. */
function failedAttempt<Handle>(
  context: FenceContext<Handle>,
  tickets: SectionTickets,
  phase: Phase,
  tx: HostTransaction<Handle> | undefined,
  error: unknown,
): AttemptEnd<never> {
  const { host, tables } = context
  const failed = (error: unknown, retryable?: 'claim' | 'work') => ({ committed: false, error, retryable }) as const
  if (error instanceof Interrupted) return failed(error.byLease ? leaseExpired(tx?.firstError()) : error.reason)
  const facts = host.describeError(error)
  const meaning = host.dialect.errorMeaning(facts.sqlState, facts.fatal)
  switch (phase) {
    case 'connecting':
      return failed(error)
    case 'claiming':
      // The work has not started, so the claim is tried again while enough lease is left; F3 is checked anew (F5).
      if (meaning === 'serialisation') return failed(error, 'claim')
      if (meaning === 'unknown' && !(error instanceof FenceError) && leaseIsOver(tickets)) {
        return failed(leaseExpired(tx?.firstError() ?? error))
      }
      return failed(explainClaimError(host.dialect, tables, facts, error))
    case 'working':
    case 'ending':
      if (meaning === 'serialisation') return failed(error, 'work')
      // F15: the database ended the transaction, or a statement of it, because the lease is over; the work saw only that
      // its connection broke, or that a statement was cut off.
      if (endedByBound(tickets, tx?.state() === 'lost' || meaning === 'blocked' || meaning === 'lease-ended')) {
        return failed(leaseExpired(tx?.firstError() ?? error))
      }
      return failed(error)
    case 'committing':
      return failed(explainCommitError(host.dialect, facts, error), meaning === 'serialisation' ? 'work' : undefined)
  }
}
