import {
  FenceError,
  type HostTransaction,
  type HostTransactionOptions,
  type IsolationLevel,
  type SqlRow,
  type SqlStatement,
  type TransactionState,
  transactionAborted,
} from '@ticketing/core'
import {
  answeredWithin,
  answeredWithinLease,
  type ConnectionSource,
  commitMillisecondsMax,
  handleEnded,
  type NativePgClient,
  PgGuard,
  type PgStatement,
  PgWatch,
  queryPrepared,
  rollbackMillisecondsMax,
  statementRefusal,
} from '@ticketing/core/pg-driver'
import type { DataSource, EntityManager, QueryRunner } from 'typeorm'
import { isSubmittable, sectionClient } from './section-client.js'
import { bindRunner, type RunnerEndings } from './section-runner.js'
import { forgetSavepoints, type TypeOrmConnection, transactionDepthOf } from './typeorm-driver.js'

type Isolation = Uppercase<IsolationLevel>

const emptyResult = { rows: [], rowCount: null, command: '' }

/**
 * One transaction of TypeORM. The connection and the runner that the work gets are apart: the session takes and returns
 * the connection itself, and its BEGIN and claim are sent before TypeORM hears of the transaction, so that no statement
 * of a subscriber comes before the claim (F1).
 */
export class TypeOrmSession implements HostTransaction<EntityManager> {
  readonly #connections: ConnectionSource<TypeOrmConnection>
  readonly #prepare: boolean
  readonly #connection: TypeOrmConnection
  readonly #options: HostTransactionOptions
  readonly #isolation: Isolation | undefined
  readonly #runner: QueryRunner
  readonly #endings: RunnerEndings
  readonly #client: NativePgClient
  readonly #watch: PgWatch
  readonly #guard: PgGuard
  readonly #warn: (what: string, error: unknown) => void
  #phase: 'new' | 'beginning' | 'open' | 'ended' | 'finishing' = 'new'
  #ending: 'COMMIT' | 'ROLLBACK' | undefined
  #endingSent = false
  /** TypeORM knows of the transaction, and has told its subscribers. */
  #announced = false

  /**
   * @param runner - a fresh one of the same DataSource, which has no connection yet.
   * @param prepare - keep the claim as a prepared statement of each connection.
   */
  constructor(
    dataSource: DataSource,
    runner: QueryRunner,
    connections: ConnectionSource<TypeOrmConnection>,
    connection: TypeOrmConnection,
    options: HostTransactionOptions,
    prepare: boolean,
  ) {
    this.#prepare = prepare
    this.#connections = connections
    this.#connection = connection
    this.#options = options
    this.#isolation = isolationOf(dataSource, options.isolation)
    this.#runner = runner
    this.#warn = (what, error) => void dataSource.logger.log('warn', `${what}: ${String(error)}`)
    this.#watch = new PgWatch(connection.native)
    this.#client = sectionClient(connection.native)
    this.#guard = new PgGuard(this.#client, (text) => this.#verdict(text))
    const guarded = this.#client.query
    this.#client.query = (...args): unknown => {
      // A stream is no promise, so a refusal must be thrown.
      const refused = isSubmittable(args[0]) ? this.#verdict('') : undefined
      if (refused !== undefined) throw refused
      return guarded(...args)
    }
    this.#endings = bindRunner(runner, this.#client)
  }

  get handle(): EntityManager {
    return this.#runner.manager
  }

  query(statement: SqlStatement): Promise<readonly SqlRow[]> {
    return answeredWithinLease(this.#options.remainingMilliseconds?.(), this.#query(statement))
  }

  async end(): Promise<void> {
    if (this.#phase === 'open') this.#phase = 'ended'
    await this.#guard.settled()
    await this.#watch.answered()
  }

  state(): TransactionState {
    return this.#watch.state()
  }

  firstError(): unknown {
    return this.#watch.firstError
  }

  /** Lets TypeORM commit and returns the connection once it is confirmed; any other end destroys it (F13). */
  async commit(): Promise<void> {
    if (this.#phase === 'new') return this.#giveBack()
    this.#finishing('COMMIT')
    try {
      await answeredWithin(commitMillisecondsMax, 'COMMIT', this.#commit())
      this.#giveBack()
    } catch (error) {
      // What runs after the confirmed COMMIT are subscribers; their failure does not undo it.
      if (this.#committed) {
        this.#warn('A subscriber failed, or did not return, after the COMMIT of a fenced section', error)
        return this.#giveBack()
      }
      if (!this.#endingSent) {
        await this.rollback()
        throw commitNotSent(error)
      }
      this.#giveBack(error)
      throw this.#watch.lossError ?? error
    }
  }

  /** Rolls back and returns the connection. Never throws: the section's own error is what its caller must see. */
  async rollback(): Promise<void> {
    if (this.#phase === 'new') return this.#giveBack()
    this.#finishing('ROLLBACK')
    try {
      await answeredWithin(rollbackMillisecondsMax, 'ROLLBACK', this.#rollback())
      if (!this.#watch.begun) throw new Error('The server did not confirm BEGIN.')
      this.#giveBack()
    } catch (error) {
      this.#giveBack(error)
    }
  }

  async #query(statement: SqlStatement): Promise<readonly SqlRow[]> {
    const first = this.#phase === 'new'
    if (first) {
      this.#phase = 'beginning'
      await this.#send(beginText(this.#isolation), [])
    }
    // Behind COMMIT or ROLLBACK it would run on a connection that may be another's by then.
    if (this.#phase === 'finishing') throw handleEnded()
    const rows = first ? await this.#claim(statement) : (await this.#send(statement.text, [...statement.values])).rows
    if (first) this.#watch.transactionBegan()
    // A refused claim returns no row: its transaction is only rolled back, and nobody needs to hear of it.
    if (first && rows.length > 0) await this.#announce()
    return rows
  }

  async #send(text: string, values: unknown[]): Promise<{ rows: SqlRow[] }> {
    return (await this.#guard.pass(() => this.#client.query(text, values))) as { rows: SqlRow[] }
  }

  /** The transaction's first statement. */
  async #claim(statement: SqlStatement): Promise<readonly SqlRow[]> {
    if (!this.#prepare) return (await this.#send(statement.text, [...statement.values])).rows
    const send = (prepared: PgStatement) =>
      this.#guard.pass(() => this.#client.query(prepared)) as Promise<{ rows: SqlRow[] }>
    return await queryPrepared(this.#connection.native, statement, [beginText(this.#isolation)], send)
  }

  /** TypeORM begins a transaction that has begun: its own statements for that are answered without being sent. */
  async #announce(): Promise<void> {
    if (this.#phase === 'finishing') throw handleEnded()
    this.#phase = 'open'
    this.#announced = true
    const guarded = this.#client.query
    const done = new Set<unknown>(['START TRANSACTION', `SET TRANSACTION ISOLATION LEVEL ${this.#isolation}`])
    this.#client.query = (...args) => (done.has(args[0]) ? Promise.resolve(emptyResult) : guarded(...args))
    try {
      await this.#runner.startTransaction(this.#isolation)
    } finally {
      this.#client.query = guarded
    }
  }

  async #commit(): Promise<void> {
    if (!this.#announced) await this.#client.query('COMMIT')
    else if ((transactionDepthOf(this.#runner) ?? 1) === 1) await this.#endings.commit()
    else throw savepointOpen()
    // The database answers an aborted transaction's COMMIT without an error; only its own word counts.
    if (!this.#committed) throw transactionAborted(this.#watch.firstError)
  }

  get #committed(): boolean {
    return this.#ending === 'COMMIT' && this.#endingSent && this.#watch.lastTag === 'COMMIT'
  }

  async #rollback(): Promise<void> {
    // A subscriber that failed at the begin has left TypeORM without a transaction.
    if (this.#announced && this.#runner.isTransactionActive) {
      forgetSavepoints(this.#runner)
      await this.#endings.rollback().catch((error: unknown) => {
        if (!this.#watch.lost) this.#warn('A subscriber failed at the rollback of a fenced section', error)
      })
    }
    if (!this.#endingSent) await this.#client.query('ROLLBACK')
  }

  #finishing(ending: 'COMMIT' | 'ROLLBACK'): void {
    this.#phase = 'finishing'
    this.#ending = ending
    this.#watch.transactionEnds()
  }

  /** Why a statement that TypeORM is about to send must not leave. */
  #verdict(text: string): FenceError | undefined {
    const left = this.#options.remainingMilliseconds?.() ?? Number.POSITIVE_INFINITY
    // Only the ending that the section chose, and once: what subscribers send around it would commit by itself (F14).
    if (this.#phase === 'finishing' && text === this.#ending && !this.#endingSent) {
      const late = text === 'COMMIT' && left < 1
      this.#endingSent = !late
      return statementRefusal({ handleEnded: false, transactionEnded: false, leaseOver: late })
    }
    return statementRefusal({
      handleEnded: this.#phase !== 'open',
      transactionEnded: this.#watch.ended,
      leaseOver: left < 1,
    })
  }

  #giveBack(error?: unknown): void {
    const sound = error === undefined && this.#watch.idle && !this.#watch.lost
    this.#watch.stop()
    if (sound) return this.#connections.giveBack(this.#connection)
    const reason = error ?? this.#watch.firstError ?? new Error('The connection was still in a transaction.')
    this.#connections.destroy(this.#connection, reason instanceof Error ? reason : new Error('The transaction failed.'))
    this.#options.onConnectionDestroyed(reason)
  }
}

/** Without a level of its own, a section gets the one of its DataSource (TypeORM 1). */
function isolationOf(dataSource: DataSource, isolation: IsolationLevel | undefined): Isolation | undefined {
  if (isolation !== undefined) return isolation.toUpperCase() as Isolation
  return (dataSource.options as { isolationLevel?: Isolation }).isolationLevel
}

function beginText(isolation: Isolation | undefined): string {
  return isolation === undefined ? 'BEGIN' : `BEGIN ISOLATION LEVEL ${isolation}`
}

/** Something threw before COMMIT could leave; unlike a COMMIT without an answer, that is certain (F6). */
function commitNotSent(error: unknown): unknown {
  if (error instanceof FenceError) return error
  return new FenceError(
    'FENCE_COMMIT_FAILED',
    'not-executed',
    'TypeORM did not send COMMIT (see cause). The transaction was rolled back and nothing of the section was written.',
    { cause: error },
  )
}

function savepointOpen(): FenceError {
  return new FenceError(
    'FENCE_COMMIT_FAILED',
    'not-executed',
    'A nested transaction was still open when the work of the section returned, so COMMIT was not sent. The transaction ' +
      'was rolled back and nothing was written. Await every manager.transaction() inside the section.',
  )
}
