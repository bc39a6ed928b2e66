import { invalidArgument, shown } from './fence-errors.js'
import { type FenceEventName, type FenceEvents, FenceReporter } from './fence-events.js'
import { type FenceContext, runFencedSection, type SectionWork } from './fenced-section.js'
import { migrate } from './migrations.js'
import {
  checkFenceOptions,
  checkSection,
  type FenceOptions,
  type SectionDefaults,
  type SectionOptionsFor,
} from './section-options.js'
import { type MonotonicClock, systemClock } from './system-clock.js'
import type { TransactionHost } from './transaction-host.js'

const defaultTable = 'ticketing_fence'

/** Runs critical sections: acquire, one database transaction that refuses stale tokens, release. */
export interface Fence<Handle, Defaults extends SectionDefaults = SectionDefaults> {
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
  /** The adapter's own options, which it checks itself; a message on an unknown option lists them too. */
  readonly optionNames?: readonly string[]
}

/**
 * Builds a fence on a host; what every adapter's own function calls.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT`.
 */
export function createFence<Handle, const Defaults extends SectionDefaults = {}>(
  host: TransactionHost<Handle>,
  options: FenceOptions<Defaults>,
  internals: FenceInternals = {},
): Fence<Handle, Defaults> {
  const defaults = checkFenceOptions(options, internals.optionNames ?? [])
  const reporter = new FenceReporter(options.logger)
  const context: FenceContext<Handle> = {
    fence: Object.freeze({}),
    host,
    broker: options.broker,
    tables: host.dialect.tables(options.table ?? defaultTable),
    reporter,
    clock: internals.clock ?? systemClock,
  }

  async function run<R>(keys: unknown, second: unknown, third?: unknown): Promise<Awaited<R>> {
    const [given, work] = typeof second === 'function' ? [{}, second] : [second, third]
    if (typeof work !== 'function')
      throw invalidArgument('work', `must be a function, the last argument of run, not ${shown(work)}`)
    const settings = checkSection(keys, given === undefined ? {} : given, defaults)
    return await runFencedSection(context, settings, work as SectionWork<Handle, R>)
  }

  return {
    run,
    migrate: () => migrate(host, context.tables, (error) => reporter.report('connection-destroyed', { error })),
    on: (name, listener) => reporter.on(name, listener),
  }
}
