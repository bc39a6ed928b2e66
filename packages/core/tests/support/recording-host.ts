import {
  type CallerTransaction,
  type ClaimBounds,
  type DatabaseErrorFacts,
  type Dialect,
  FenceError,
  type FenceTables,
  type HostTransaction,
  type HostTransactionOptions,
  invalidArgument,
  type KeyClaim,
  leaseExpired,
  postgres,
  type SqlRow,
  type SqlStatement,
  type TransactionHost,
  type TransactionState,
} from '../../src/index.js'
import { DatabaseError, FakeConnection, type FakeDatabase, type FenceQuery } from './fake-database.js'

/** The two shapes that the contract has room for, and the two ways of telling what became of a transaction. */
export interface HostKind {
  /** Who sends BEGIN and COMMIT: the host, which holds BEGIN back for the claim (pg), or its library (Knex, Prisma). */
  readonly shape: 'BEGIN held back' | 'BEGIN and COMMIT by the library'
  readonly evidence: 'status' | 'identity'
}

export const hostKinds: readonly HostKind[] = [
  { shape: 'BEGIN held back', evidence: 'status' },
  { shape: 'BEGIN held back', evidence: 'identity' },
  { shape: 'BEGIN and COMMIT by the library', evidence: 'status' },
  { shape: 'BEGIN and COMMIT by the library', evidence: 'identity' },
]

/** What the work gets. */
export interface RecordedHandle {
  query(text: string): Promise<readonly SqlRow[]>
}

export interface RecordedClaim {
  readonly tables: FenceTables
  readonly claims: readonly KeyClaim[]
  readonly attempt: string
  readonly bounds: ClaimBounds
  readonly statement: SqlStatement
}

/** A host on a {@link FakeDatabase} that keeps the contract to the letter and does nothing of its own for the fence. */
export class RecordingHost implements TransactionHost<RecordedHandle, FakeConnection> {
  readonly pool: object = {}
  readonly dialect: Dialect
  readonly claims: RecordedClaim[] = []
  readonly transactions: HostTransactionOptions[] = []
  readonly #kind: HostKind
  readonly #database: FakeDatabase
  readonly #queries = new WeakMap<SqlStatement, FenceQuery>()

  constructor(kind: HostKind, database: FakeDatabase) {
    this.#kind = kind
    this.#database = database
    this.dialect = this.#recordingDialect()
  }

  async transaction<R>(
    options: HostTransactionOptions,
    body: (tx: HostTransaction<RecordedHandle>) => Promise<R>,
  ): Promise<R> {
    this.transactions.push(options)
    const connection = await this.#connect(options)
    if (this.#kind.shape === 'BEGIN held back') return await this.#heldBack(connection, options, body)
    return await this.#byLibrary(connection, options, body)
  }

  /** A connection on which the caller has begun. */
  async adopt(connection: FakeConnection): Promise<CallerTransaction> {
    const state = this.#kind.evidence === 'identity' ? 'unsure' : 'open'
    if (state === 'open' && !connection.inTransaction) throw invalidArgument('transaction', 'is not open')
    return { state, query: (statement) => this.#fenceQuery(connection, statement) }
  }

  #fenceQuery(connection: FakeConnection, statement: SqlStatement): Promise<readonly SqlRow[]> {
    const query = this.#queries.get(statement)
    if (query === undefined) throw new Error(`A statement that the dialect did not make: ${statement.text}`)
    return connection.fenceQuery(query)
  }

  describeError(error: unknown): DatabaseErrorFacts {
    if (error instanceof DatabaseError) return { sqlState: error.sqlState, fatal: error.fatal }
    return { sqlState: undefined, fatal: false }
  }

  /** As an adapter of pg does it: BEGIN goes out with the first statement, and never where there is none. */
  async #heldBack<R>(
    connection: FakeConnection,
    options: HostTransactionOptions,
    body: (tx: RecordedTransaction) => Promise<R>,
  ): Promise<R> {
    const tx = this.#transactionOn(connection, options, false)
    const finish = async (command: 'COMMIT' | 'ROLLBACK') => {
      if (tx.begun) await tx.inTurn(() => connection.end(command))
    }
    return await this.#around(connection, options, () => body(tx), finish)
  }

  /** As a library with a transaction callback does it: BEGIN before the callback, COMMIT behind its back. */
  async #byLibrary<R>(
    connection: FakeConnection,
    options: HostTransactionOptions,
    body: (tx: RecordedTransaction) => Promise<R>,
  ): Promise<R> {
    const callback = async () => {
      await connection.begin()
      return await body(this.#transactionOn(connection, options, true))
    }
    return await this.#around(connection, options, callback, (command) => connection.end(command))
  }

  async #around<R>(
    connection: FakeConnection,
    options: HostTransactionOptions,
    callback: () => Promise<R>,
    finish: (command: 'COMMIT' | 'ROLLBACK') => Promise<void>,
  ): Promise<R> {
    let result: R
    try {
      result = await callback()
    } catch (error) {
      await finish('ROLLBACK').then(
        () => this.#giveBack(connection, options),
        (fault: unknown) => this.#giveBack(connection, options, fault),
      )
      throw error
    }
    try {
      await finish('COMMIT')
    } catch (error) {
      this.#giveBack(connection, options, error)
      throw error
    }
    this.#giveBack(connection, options)
    return result
  }

  #transactionOn(connection: FakeConnection, options: HostTransactionOptions, begun: boolean): RecordedTransaction {
    const run = (statement: SqlStatement) => this.#fenceQuery(connection, statement)
    return new RecordedTransaction(connection, this.#database, options, this.#kind, run, begun)
  }

  /** A connection that comes after the section has given up goes straight back. */
  async #connect(options: HostTransactionOptions): Promise<FakeConnection> {
    let givenUp = false
    const taking = this.#database.step('connect').then(() => {
      if (givenUp) this.#database.journal.push('give back')
      return new FakeConnection(this.#database)
    })
    try {
      return await options.connecting(taking)
    } catch (error) {
      givenUp = true
      throw error
    }
  }

  #giveBack(connection: FakeConnection, options: HostTransactionOptions, fault?: unknown): void {
    const error = fault ?? (connection.lost ? connection.firstError : undefined)
    this.#database.journal.push(error === undefined ? 'give back' : 'destroy')
    if (error !== undefined) options.onConnectionDestroyed(error)
  }

  /** The SQL of PostgreSQL; each statement is remembered, so that the fake database need not read it. */
  #recordingDialect(): Dialect {
    const remember = (query: FenceQuery, statement: SqlStatement): SqlStatement => {
      this.#queries.set(statement, query)
      return statement
    }
    return {
      ...postgres,
      claim: (tables, claims, attempt, bounds) => {
        const statement = postgres.claim(tables, claims, attempt, bounds)
        this.claims.push({ tables, claims, attempt: Buffer.from(attempt).toString('hex'), bounds, statement })
        return remember({ kind: 'claim', claims }, statement)
      },
      storedTokens: (tables, keys) => remember({ kind: 'stored tokens', keys }, postgres.storedTokens(tables, keys)),
      identity: () => remember({ kind: 'identity' }, postgres.identity()),
      abort: () => remember({ kind: 'abort' }, postgres.abort()),
    }
  }
}

/** One transaction of the host. Its handle dies by {@link end} alone: nothing here makes up for a section that forgets it. */
class RecordedTransaction implements HostTransaction<RecordedHandle> {
  readonly handle: RecordedHandle
  readonly #connection: FakeConnection
  readonly #database: FakeDatabase
  readonly #kind: HostKind
  readonly #run: (statement: SqlStatement) => Promise<readonly SqlRow[]>
  begun: boolean
  #handleEnded = false
  #turn: Promise<unknown> = Promise.resolve()

  constructor(
    connection: FakeConnection,
    database: FakeDatabase,
    options: HostTransactionOptions,
    kind: HostKind,
    run: (statement: SqlStatement) => Promise<readonly SqlRow[]>,
    begun: boolean,
  ) {
    this.#connection = connection
    this.#database = database
    this.#kind = kind
    this.#run = run
    this.begun = begun
    this.handle = {
      query: (text) =>
        this.inTurn(async () => {
          if (this.#handleEnded) throw new FenceError('FENCE_HANDLE_ENDED', 'not-executed', 'The section has ended.')
          if ((options.remainingMilliseconds?.() ?? 1) < 1) throw leaseExpired(undefined)
          return await connection.userQuery(text)
        }),
    }
  }

  query(statement: SqlStatement): Promise<readonly SqlRow[]> {
    return this.inTurn(async () => {
      if (!this.begun) {
        this.begun = true
        await this.#connection.begin()
      }
      return await this.#run(statement)
    })
  }

  async end(): Promise<void> {
    if (!this.#handleEnded) this.#database.journal.push('handle ends')
    this.#handleEnded = true
    await this.#turn
  }

  state(): TransactionState {
    const { lost, ended, aborted, rolledBack } = this.#connection
    if (lost) return 'lost'
    if (this.#kind.evidence === 'identity') return 'unsure'
    if (ended) return 'ended'
    if (aborted) return 'aborted'
    return rolledBack ? 'unsure' : 'open'
  }

  firstError(): unknown {
    return this.#connection.firstError
  }

  inTurn<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(step)
    this.#turn = result.catch(() => undefined)
    return result
  }
}
