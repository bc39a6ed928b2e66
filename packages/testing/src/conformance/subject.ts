import type { Broker, Ticket } from '@ticketing/client'
import type { FenceEventName, FenceEvents, IsolationLevel, SectionWork } from '@ticketing/core'

/** What an adapter may be unable to promise, because its library hides what would be needed. */
export type Capability =
  /** The driver's replies tell before COMMIT what became of the transaction (F12). */
  | 'checks without a round trip'
  /** A statement after the work's own COMMIT or ROLLBACK is refused before it is sent (F12). */
  | 'stops after the work’s own end'
  /** A connection that comes out of the pool in the middle of a transaction is not used (fault 4). */
  | 'sees a connection’s state'
  /** A connection whose BEGIN, COMMIT or ROLLBACK failed or timed out is destroyed (F13). */
  | 'destroys connections'

export const levels = ['read committed', 'repeatable read', 'serializable'] as const satisfies readonly IsolationLevel[]

/** An adapter, as the suite sees it. */
export interface ConformanceSubject {
  /** Its name in titles and in the matrix. */
  readonly adapter: string
  /** What it does not promise, and why. A test that needs it is skipped, and the matrix gives the reason. */
  readonly missing?: Partial<Record<Capability, string>>
  /** The isolation levels to try; all without it. */
  readonly levels?: readonly IsolationLevel[]
  open(options: SubjectOptions): Promise<OpenSubject>
}

export interface SubjectOptions {
  readonly url: string
  readonly connectionsMax: number
  readonly broker: Broker
  readonly table?: string
}

/** The handle of a section and a caller's own transaction are the adapter's business. */
export type Handle = unknown
export type Caller = unknown

/** What `Fence` is to every adapter, whatever its handle. */
export interface AnyFence {
  run<R>(keys: string | readonly string[], options: object, work: SectionWork<Handle, R>): Promise<Awaited<R>>
  runWith<R>(ticket: Ticket | readonly Ticket[], options: object, work: SectionWork<Handle, R>): Promise<Awaited<R>>
  claim(transaction: Caller, ticket: Ticket | readonly Ticket[]): Promise<void>
  migrate(): Promise<void>
  on<Name extends FenceEventName>(name: Name, listener: (event: FenceEvents[Name]) => void): () => void
}

/** A fence of an adapter, with its own handle, as one for the suite. */
export function anyFence(fence: { readonly [Name in keyof AnyFence]: (...args: never[]) => unknown }): AnyFence {
  return fence as AnyFence
}

/** A fence on a pool of the library, and the library's own ways to run statements. Statements have no parameters. */
export interface OpenSubject {
  readonly fence: AnyFence
  /** Another fence object on the same pool and table. */
  twin(): AnyFence
  /** Runs a statement through a section's handle and returns its rows. */
  query(handle: Handle, sql: string): Promise<readonly Record<string, unknown>[]>
  /** Runs `work` in a savepoint, in the library's own idiom; absent where it has none inside a section. */
  savepoint?(handle: Handle, work: (inner: Handle) => Promise<unknown>): Promise<unknown>
  /** Runs a statement on the pool, in no transaction. */
  queryPool(sql: string): Promise<readonly Record<string, unknown>[]>
  /** A top-level transaction of the caller's own. */
  transaction(work: (transaction: Caller) => Promise<unknown>): Promise<unknown>
  queryCaller(transaction: Caller, sql: string): Promise<unknown>
  /** Opens a transaction inside one of the caller's own; absent where the library has no such thing. */
  nest?(transaction: Caller, work: (inner: Caller) => Promise<unknown>): Promise<unknown>
  close(): Promise<void>
}
