import type { Ticket } from '@ticketing/client'
import { claimForCaller } from './caller-claim.js'
import { invalidArgument, shown } from './fence-errors.js'
import { type FenceEventName, type FenceEvents, FenceReporter } from './fence-events.js'
import { type FenceContext, runFencedSection, runWithTickets, type SectionWork } from './fenced-section.js'
import { migrate } from './migrations.js'
import {
  checkFenceOptions,
  checkOwnTicketSection,
  checkSection,
  defaultTable,
  type FenceOptions,
  type OwnTicketOptions,
  type SectionDefaults,
  type SectionOptionsFor,
} from './section-options.js'
import { heldTickets } from './section-tickets.js'
import { type MonotonicClock, systemClock } from './system-clock.js'
import type { TransactionHost } from './transaction-host.js'

/** Runs critical sections: acquire, one database transaction that refuses stale tokens, release. */
export interface Fence<Handle, Defaults extends SectionDefaults = SectionDefaults, Caller = Handle> {
  /**
   * Runs one critical section on a key, or on several. The keys are acquired first; then one transaction claims their
   * tokens, runs the work and commits; then the tickets are released.
   *
   * @returns what the work returned, once COMMIT is confirmed.
   * @throws {TicketError} where a key was not obtained; no connection was taken then.
   * @throws {FenceError} where the section was refused or its outcome is not success; `outcome` tells what was written.
   * @throws whatever the work threw, as the same object (F15).
   */
  run<R>(
    keys: string | readonly string[],
    options: SectionOptionsFor<Defaults>,
    work: SectionWork<Handle, R>,
  ): Promise<Awaited<R>>
  /** The same with the fence's defaults alone. */
  run<R>(
    keys: string | readonly string[],
    work: {} extends SectionOptionsFor<Defaults> ? SectionWork<Handle, R> : never,
  ): Promise<Awaited<R>>
  /**
   * The same with a ticket that the caller already has, or with one for each key. The section neither acquires nor
   * releases: a ticket stays its owner's, and commits one section. `minWork` need not be given.
   */
  runWith<R>(
    ticket: Ticket | readonly Ticket[],
    options: OwnTicketOptions,
    work: SectionWork<Handle, R>,
  ): Promise<Awaited<R>>
  runWith<R>(ticket: Ticket | readonly Ticket[], work: SectionWork<Handle, R>): Promise<Awaited<R>>
  /**
   * The low level: moves the high-water to the ticket's token inside a top-level transaction of the caller's own, whose
   * first statement this must be, and bounds that transaction by what remains of the lease. What follows is the
   * caller's: to check before COMMIT that the lease is not over and that the transaction is still this one and sound
   * (F12), to destroy a connection whose COMMIT or ROLLBACK failed (F13), to let no statement come later (F14), and to
   * release after the transaction. Where it throws, the transaction is aborted and can only be rolled back.
   *
   * @throws {StaleTokenError} where the database has seen this token or a later one.
   * @throws {FenceError} `FENCE_INVALID_ARGUMENT` where `transaction` is none, or is a nested one; `FENCE_LEASE_EXPIRED`,
   *   `FENCE_LEASE_TOO_SHORT` (below the `minWork` of the defaults), `FENCE_BLOCKED`, `FENCE_NOT_MIGRATED`, `FENCE_SCHEMA_TOO_NEW`, `FENCE_NESTED`.
   */
  claim(transaction: Caller, ticket: Ticket | readonly Ticket[]): Promise<void>
  /**
   * Creates the fence's tables, or does nothing where they are current. Safe to call from any number of processes.
   *
   * @throws {FenceError} `FENCE_SCHEMA_TOO_NEW`.
   */
  migrate(): Promise<void>
  /** Listens to what happens on the side. @returns a function that takes the listener off again. */
  on<Name extends FenceEventName>(name: Name, listener: (event: FenceEvents[Name]) => void): () => void
}

/** What an adapter may set besides the user's options. */
export interface FenceInternals {
  readonly clock?: MonotonicClock
  /** The side channel that several fences of one adapter share. */
  readonly reporter?: FenceReporter
  /** The adapter's own options, which it checks itself; a message on an unknown option lists them too. */
  readonly optionNames?: readonly string[]
}

/**
 * Builds a fence on a host; what every adapter's own function calls.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT`.
 */
export function createFence<Handle, const Defaults extends SectionDefaults = {}, Caller = Handle>(
  host: TransactionHost<Handle, Caller>,
  options: FenceOptions<Defaults>,
  internals: FenceInternals = {},
): Fence<Handle, Defaults, Caller> {
  const defaults = checkFenceOptions(options, internals.optionNames ?? [])
  const reporter = internals.reporter ?? new FenceReporter(options.logger)
  const context: FenceContext<Handle> = {
    fence: Object.freeze({}),
    // Only `adopt` takes a Caller, and `claim` hands it what it was given as one.
    host: host,
    broker: options.broker,
    tables: host.dialect.tables(options.table ?? defaultTable),
    reporter,
    clock: internals.clock ?? systemClock,
  }

  async function run<R>(keys: unknown, second: unknown, third?: unknown): Promise<Awaited<R>> {
    const [given, work] = optionsAndWork<SectionWork<Handle, R>>('run', second, third)
    return await runFencedSection(context, checkSection(keys, given, defaults), work)
  }

  async function runWith<R>(ticket: unknown, second: unknown, third?: unknown): Promise<Awaited<R>> {
    const [given, work] = optionsAndWork<SectionWork<Handle, R>>('runWith', second, third)
    const tickets = heldTickets(ticket)
    return await runWithTickets(context, checkOwnTicketSection(tickets.keys, given, defaults), tickets, work)
  }

  return {
    run,
    runWith,
    claim: async (transaction, ticket) => {
      const tickets = heldTickets(ticket)
      const { minWorkSeconds } = checkOwnTicketSection(tickets.keys, {}, defaults)
      await claimForCaller(context, transaction, tickets, minWorkSeconds)
    },
    migrate: () => migrate(host, context.tables, (error) => reporter.report('connection-destroyed', { error })),
    on: (name, listener) => reporter.on(name, listener),
  }
}

/** The options may be left out; the work comes last. */
function optionsAndWork<Work>(method: string, second: unknown, third: unknown): [unknown, Work] {
  const [given, work] = typeof second === 'function' ? [{}, second] : [second, third]
  if (typeof work !== 'function')
    throw invalidArgument('work', `must be a function, the last argument of ${method}, not ${shown(work)}`)
  return [given === undefined ? {} : given, work as Work]
}
