import type { Dialect, SqlRow, SqlStatement } from './dialects/dialect.js'

export type IsolationLevel = 'read committed' | 'repeatable read' | 'serializable'

/**
 * What the fence needs from a database library: to run one transaction and to say honestly how it ended. An adapter
 * implements it; the order of a section stands once, in `fenced-section`.
 *
 * The shape is a callback because some libraries (Knex, Prisma) own BEGIN and COMMIT around one. A library that lets
 * its caller send them (pg) fits into it as well, and may hold BEGIN back to send it together with the claim.
 *
 * @typeParam Handle - what the section's work gets to run its statements with.
 * @typeParam Caller - what a caller's own transaction is in this library, for a claim alone.
 */
export interface TransactionHost<Handle, Caller = Handle> {
  readonly dialect: Dialect
  /** The connection pool behind the host. Two fences on the same pool object and table are the same fence (F9). */
  readonly pool: object

  /**
   * Takes a connection, opens a top-level transaction on it and calls `body`.
   *
   * - `body` resolves: send COMMIT and resolve with its value once the database has confirmed the commit.
   * - `body` rejects: send ROLLBACK and reject with the same error object, whatever becomes of the ROLLBACK.
   * - COMMIT fails or gets no answer in time: reject with that error. The caller knows it from an error of `body`,
   *   since `body` had resolved.
   *
   * A connection whose BEGIN, COMMIT or ROLLBACK failed or timed out is destroyed (F13) and reported. The promise
   * settles only when `body` has settled and the connection is back in its pool or destroyed.
   */
  transaction<R>(options: HostTransactionOptions, body: (tx: HostTransaction<Handle>) => Promise<R>): Promise<R>

  /**
   * Gives access to a transaction that the caller began and will end itself, for a claim.
   *
   * @throws {FenceError} `FENCE_INVALID_ARGUMENT` where it is certainly no open top-level transaction of this library.
   */
  adopt(transaction: Caller): Promise<CallerTransaction>

  /** What is known about an error of this library's driver; never judged by message text. */
  describeError(error: unknown): DatabaseErrorFacts
}

/** Something that runs a statement in one transaction. */
export interface StatementRunner {
  query(statement: SqlStatement): Promise<readonly SqlRow[]>
}

/** A transaction of the caller. */
export interface CallerTransaction extends StatementRunner {
  /** `open` where the driver shows that a transaction is open, else `unsure`. */
  readonly state: 'open' | 'unsure'
}

export interface HostTransactionOptions {
  /** The level to begin with; without one the database's default holds. */
  readonly isolation: IsolationLevel | undefined
  /**
   * Waits for a connection: the promise's own outcome, or a rejection if the section gives up first. The host then
   * rejects with that error, and a connection that still comes goes straight back.
   */
  connecting<T>(connection: Promise<T>): Promise<T>
  /** Milliseconds until the database itself must have ended the transaction (F4), counted now. Without it, no bound. */
  readonly remainingMilliseconds: (() => number) | undefined
  /** A connection was destroyed instead of returned. */
  readonly onConnectionDestroyed: (error: unknown) => void
}

/** One open transaction of a host. */
export interface HostTransaction<Handle> extends StatementRunner {
  /** For the section's work. Refuses every statement once {@link end} was called, the transaction was ended, or the lease is over. */
  readonly handle: Handle
  /**
   * Runs a statement for the fence itself; the first one is the transaction's first statement. It does not go through
   * the handle and is not subject to its end. Where the transaction is bounded (F4), it rejects within some seconds
   * after that bound even if no answer comes; once COMMIT or ROLLBACK is queued, it is refused.
   */
  query(statement: SqlStatement): Promise<readonly SqlRow[]>
  /** The handle is dead from this call on (F14). Resolves once no statement that was sent through it is still running. */
  end(): Promise<void>
  /** What the replies so far say about the transaction (F12). */
  state(): TransactionState
  /** The driver's first error that ended the connection or the transaction, if there was one; kept even if others follow. */
  firstError(): unknown
}

/**
 * - `open`: the transaction that began is certainly still the current one, and sound.
 * - `aborted`: the database has aborted it; COMMIT would roll back.
 * - `ended`: the work ended it (COMMIT, ROLLBACK, PREPARE TRANSACTION), whatever was begun since.
 * - `lost`: the connection is gone.
 * - `unsure`: the driver does not show it; the identity of the transaction decides.
 */
export type TransactionState = 'open' | 'aborted' | 'ended' | 'lost' | 'unsure'

export interface DatabaseErrorFacts {
  /** The SQLSTATE, where the database itself sent the error. */
  readonly sqlState: string | undefined
  /** Whether the error ended the connection. */
  readonly fatal: boolean
}
