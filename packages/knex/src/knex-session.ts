import {
  type HostTransaction,
  type HostTransactionOptions,
  invalidArgument,
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
  PgGuard,
  type PgStatement,
  PgWatch,
  queryPrepared,
  rollbackMillisecondsMax,
  statementRefusal,
} from '@ticketing/core/pg-driver'
import type { Knex } from 'knex'
import { type KnexConnection, withFixedMessage } from './knex-driver.js'

/** How the adapter talks to the server. */
export interface KnexSessionSettings {
  /** Keep the claim as a prepared statement of each connection. */
  readonly prepare: boolean
}

type Ending = Knex.Transaction['commit']

/**
 * One transaction of Knex on a connection of its own pool. Knex owns BEGIN, COMMIT and ROLLBACK around a callback: here
 * the callback waits until the section says how it ends. BEGIN goes out with the first statement.
 */
export class KnexSession implements HostTransaction<Knex.Transaction> {
  readonly #knex: Knex
  readonly #connections: ConnectionSource<KnexConnection>
  readonly #connection: KnexConnection
  readonly #options: HostTransactionOptions
  readonly #settings: KnexSessionSettings
  readonly #watch: PgWatch
  readonly #guard: PgGuard
  #phase: 'new' | 'beginning' | 'open' | 'ended' | 'finishing' = 'new'
  #ending: 'COMMIT' | 'ROLLBACK' | undefined
  #transaction: Knex.Transaction | undefined
  #endings: { readonly commit: Ending; readonly rollback: Ending } | undefined
  /** Settles as Knex settles the transaction. */
  #outcome: Promise<unknown> = Promise.resolve()
  #finish: { readonly commit: () => void; readonly rollback: (error: unknown) => void } | undefined

  constructor(
    knex: Knex,
    connections: ConnectionSource<KnexConnection>,
    connection: KnexConnection,
    options: HostTransactionOptions,
    settings: KnexSessionSettings,
  ) {
    this.#knex = knex
    this.#connections = connections
    this.#connection = connection
    this.#options = options
    this.#settings = settings
    this.#watch = new PgWatch(connection)
    this.#guard = new PgGuard(connection, (text) => withFixedMessage(this.#verdict(text)))
  }

  get handle(): Knex.Transaction {
    if (this.#transaction === undefined) throw new Error('The transaction has not begun.')
    return this.#transaction
  }

  query(statement: SqlStatement): Promise<readonly SqlRow[]> {
    return answeredWithinLease(this.#options.remainingMilliseconds?.(), this.#answered(statement))
  }

  async #answered(statement: SqlStatement): Promise<readonly SqlRow[]> {
    // Behind COMMIT or ROLLBACK it would run on a connection that may be another's by then.
    if (this.#phase === 'finishing') throw handleEnded()
    const send = (statement: PgStatement) =>
      this.#guard.pass(() => this.#connection.query(statement)) as Promise<{ rows: SqlRow[] }>
    if (this.#phase !== 'new') return (await send({ ...statement, values: [...statement.values] })).rows
    await this.#begin()
    const rows = await this.#claim(statement, send)
    this.#watch.transactionBegan()
    return rows
  }

  /** The transaction's first statement. */
  async #claim(
    statement: SqlStatement,
    send: (statement: PgStatement) => Promise<{ rows: SqlRow[] }>,
  ): Promise<readonly SqlRow[]> {
    if (!this.#settings.prepare) return (await send({ ...statement, values: [...statement.values] })).rows
    const { isolation } = this.#options
    const begin = isolation === undefined ? 'BEGIN' : `BEGIN ISOLATION LEVEL ${isolation.toUpperCase()}`
    return await queryPrepared(this.#connection, statement, [begin], send)
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

  /** Lets Knex commit and returns the connection once it is confirmed; any other end destroys it (F13). */
  async commit(): Promise<void> {
    try {
      this.#finishing('COMMIT')
      this.#finish?.commit()
      await answeredWithin(commitMillisecondsMax, 'COMMIT', this.#outcome)
      // Knex resolves after an aborted transaction too; only the server's own word counts.
      if (this.#finish !== undefined && this.#watch.lastTag !== 'COMMIT')
        throw transactionAborted(this.#watch.firstError)
      this.#giveBack()
    } catch (error) {
      this.#giveBack(error)
      throw this.#watch.lossError ?? error
    }
  }

  /** Lets Knex roll back. Never throws: the section's own error is what its caller must see. */
  async rollback(reason: unknown): Promise<void> {
    const unconfirmed = this.#phase === 'beginning'
    this.#finishing('ROLLBACK')
    this.#finish?.rollback(reason)
    const settled = this.#outcome.then(
      () => undefined,
      () => undefined,
    )
    try {
      await answeredWithin(rollbackMillisecondsMax, 'ROLLBACK', settled)
      if (unconfirmed) throw new Error('The server did not confirm BEGIN.')
      this.#giveBack()
    } catch (error) {
      this.#giveBack(error)
    }
  }

  /** Opens Knex's transaction on our connection, and keeps its callback waiting for the section's end. */
  async #begin(): Promise<void> {
    this.#phase = 'beginning'
    const { isolation } = this.#options
    const config = { connection: this.#connection, ...(isolation === undefined ? {} : { isolationLevel: isolation }) }
    this.#transaction = await new Promise<Knex.Transaction>((resolve, reject) => {
      this.#outcome = this.#knex.transaction((transaction) => {
        // Knex calls back after a refused BEGIN too; a claim on that connection would commit by itself. The refusal
        // comes as the outcome.
        if (!this.#watch.begun) return
        resolve(transaction)
        return new Promise<void>((commit, rollback) => {
          this.#finish = { commit, rollback }
        })
      }, config)
      this.#outcome.catch(reject)
    })
    this.#phase = 'open'
    this.#endings = { commit: this.#transaction.commit, rollback: this.#transaction.rollback }
    const refuse = (name: string) => () =>
      Promise.reject(
        invalidArgument(`trx.${name}`, 'the section ends its transaction itself: return to commit, throw to roll back'),
      )
    this.#transaction.commit = refuse('commit') as unknown as Ending
    this.#transaction.rollback = refuse('rollback') as unknown as Ending
  }

  #finishing(ending: 'COMMIT' | 'ROLLBACK'): void {
    this.#phase = 'finishing'
    this.#ending = ending
    this.#watch.transactionEnds()
    if (this.#transaction !== undefined && this.#endings !== undefined) Object.assign(this.#transaction, this.#endings)
  }

  /** Why a statement that Knex is about to send must not leave. */
  #verdict(text: string): Error | undefined {
    if (this.#phase === 'beginning') return undefined
    // Only the ending that the section chose: a COMMIT that the work left behind must not go before our ROLLBACK.
    if (this.#phase === 'finishing' && text.replace(/;$/, '') === this.#ending) return undefined
    const left = this.#options.remainingMilliseconds?.() ?? Number.POSITIVE_INFINITY
    return statementRefusal({
      handleEnded: this.#phase !== 'open',
      transactionEnded: this.#watch.ended,
      leaseOver: left < 1,
    })
  }

  #giveBack(error?: unknown): void {
    const sound = error === undefined && this.#watch.idle && !this.#watch.lost
    this.#watch.stop()
    this.#guard.remove()
    if (sound) return this.#connections.giveBack(this.#connection)
    const reason = error ?? this.#watch.firstError ?? new Error('The connection was still in a transaction.')
    this.#connections.destroy(this.#connection, reason instanceof Error ? reason : new Error('The transaction failed.'))
    this.#options.onConnectionDestroyed(reason)
  }
}
