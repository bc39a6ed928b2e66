import {
  type HostTransaction,
  type HostTransactionOptions,
  type IsolationLevel,
  postgres,
  type SqlRow,
  type SqlStatement,
  type TransactionState,
  transactionAborted,
} from '@ticketing/core'
import {
  answeredWithin,
  answeredWithinLease,
  commitMillisecondsMax,
  handleEnded,
  isPreparedStatementLost,
  named,
  PgWatch,
  rollbackMillisecondsMax,
  statementRefusal,
} from '@ticketing/core/pg-driver'
import { type PgClient, type PgQueryConfig, type PgResult, type PgWire, queryClassOf } from './pg-driver.js'
import { exchange, type FenceStatement, forgetPrepared } from './pg-exchange.js'
import { type PgTransaction, readQuery } from './pg-transaction.js'

/** How the adapter talks to the server. */
export interface PgSessionSettings {
  /** Keep the claim as a prepared statement of each connection. */
  readonly prepare: boolean
}

/** One connection for the time of one section's transaction. Statements go out one after another, never two at a time. */
export class PgSession implements HostTransaction<PgTransaction> {
  readonly handle: PgTransaction
  readonly #client: PgClient
  readonly #options: HostTransactionOptions
  readonly #watch: PgWatch
  #begun = false
  #handleEnded = false
  #finishing = false
  #resendBounds = false
  #prepare: boolean
  #turn: Promise<unknown> = Promise.resolve()

  constructor(client: PgClient, options: HostTransactionOptions, settings: PgSessionSettings) {
    this.#client = client
    this.#options = options
    this.#prepare = settings.prepare
    this.#watch = new PgWatch(client)
    this.handle = Object.freeze({
      query: async (config: unknown, values?: unknown, ...rest: unknown[]) => {
        try {
          return await this.#userQuery(readQuery(config, values, rest))
        } catch (error) {
          // The trace that leads to the socket says nothing; this one leads to the statement's caller.
          if (error instanceof Error) Error.captureStackTrace(error)
          throw error
        }
      },
    }) as PgTransaction
  }

  query(statement: SqlStatement): Promise<readonly SqlRow[]> {
    const left = this.#options.remainingMilliseconds?.()
    const rows = this.#inTurn(async () => {
      // Behind COMMIT or ROLLBACK it would run on a connection that may be another's by then.
      if (this.#finishing) throw handleEnded()
      if (this.#begun) return await this.#exchange([statement])
      this.#begun = true
      const rows = await this.#begin(this.#prepared(statement))
      this.#watch.transactionBegan()
      this.#resendBounds = this.#options.remainingMilliseconds !== undefined && postgres.boundsMustBeResent(rows)
      return rows
    })
    return answeredWithinLease(left, rows)
  }

  async end(): Promise<void> {
    this.#handleEnded = true
    await this.#turn
  }

  state(): TransactionState {
    return this.#watch.state()
  }

  firstError(): unknown {
    return this.#watch.firstError
  }

  /** Sends COMMIT and returns the connection once it is confirmed; any other end destroys it (F13). */
  async commit(): Promise<void> {
    try {
      if (!this.#begun) return this.#giveBack()
      const { command } = await this.#finish('COMMIT', commitMillisecondsMax)
      if (command !== 'COMMIT') throw transactionAborted(this.#watch.firstError)
      this.#giveBack()
    } catch (error) {
      this.#giveBack(error)
      // What ended the connection tells more than "terminated unexpectedly", which may be all that COMMIT itself saw.
      throw this.#watch.lossError ?? error
    }
  }

  /** Rolls back and returns the connection. Never throws: the section's own error is what its caller must see. */
  async rollback(): Promise<void> {
    try {
      if (!this.#begun) return this.#giveBack()
      await this.#finish('ROLLBACK', rollbackMillisecondsMax)
      if (!this.#watch.begun) throw new Error('The server did not confirm BEGIN.')
      this.#giveBack()
    } catch (error) {
      this.#giveBack(error)
    }
  }

  #giveBack(error?: unknown): void {
    const sound = error === undefined && this.#watch.idle && !this.#watch.lost
    this.#watch.stop()
    if (sound) return this.#client.release()
    const reason = error ?? this.#watch.firstError ?? new Error('The connection was still in a transaction.')
    // A broken connection may still speak while its pool closes it; nobody else listens to it any more.
    this.#client.on('error', () => undefined)
    this.#client.release(reason instanceof Error ? reason : true)
    this.#options.onConnectionDestroyed(reason)
  }

  /** BEGIN and the first statement in one chunk. If the server lost its prepared statements, once more without them. */
  async #begin(first: FenceStatement): Promise<readonly SqlRow[]> {
    const begin = { text: beginText(this.#options.isolation), values: [] }
    try {
      return await this.#exchange([begin, first])
    } catch (error) {
      if (first.name === undefined || !isPreparedStatementLost(error)) throw error
      forgetPrepared(this.#client)
      // Inside the transaction the same mistake of the bounds would abort it, so they go without a name as well.
      this.#prepare = false
      await this.#exchange([{ text: 'ROLLBACK', values: [] }])
      return await this.#exchange([begin, { text: first.text, values: first.values }])
    }
  }

  async #exchange(statements: readonly FenceStatement[]): Promise<readonly SqlRow[]> {
    if (this.#client.pipeline !== true) {
      return await exchange(this.#client, statements, { onSent: () => this.#watch.sent() })
    }
    // A client in pipeline mode takes no message sequence of ours: there each statement waits for the one before it.
    let rows: readonly SqlRow[] = []
    for (const { text, values } of statements) ({ rows } = await this.#send({ text, values }))
    return rows
  }

  async #userQuery(config: PgQueryConfig): Promise<PgResult> {
    return await this.#inTurn(async () => {
      const left = this.#options.remainingMilliseconds?.() ?? Number.POSITIVE_INFINITY
      const refused = statementRefusal({
        handleEnded: this.#handleEnded,
        transactionEnded: this.#watch.ended,
        leaseOver: left < 1,
      })
      if (refused !== undefined) throw refused
      // In an aborted transaction every statement but ROLLBACK TO fails, so the bounds would too.
      const result = await this.#send(config, this.#watch.aborted ? undefined : this.#bounds())
      await this.#boundAgain()
      return result
    })
  }

  /** ROLLBACK TO brings back the bounds as they were at the savepoint, longer than what remains now (F4). */
  async #boundAgain(): Promise<void> {
    const bounds = this.#watch.takeRollback() ? this.#bounds() : undefined
    if (bounds !== undefined) await this.#exchange([bounds])
  }

  #bounds(): FenceStatement | undefined {
    const left = this.#options.remainingMilliseconds?.()
    return this.#resendBounds && left !== undefined ? this.#prepared(postgres.bounds(Math.max(1, left))) : undefined
  }

  #prepared(statement: SqlStatement): FenceStatement {
    return this.#prepare ? named(statement) : statement
  }

  /** Sends one statement of the work, behind the bounds where they must go before it, each under its own Sync (F4). */
  #send(config: PgQueryConfig, bounds?: FenceStatement): Promise<PgResult> {
    const client = this.#client
    const query = new (queryClassOf(client))(config)
    if (config.query_timeout !== undefined) query.query_timeout = config.query_timeout
    const submit = query.submit.bind(query)
    let early: { readonly error: Error | null | undefined } | undefined
    const submitCounted = (wire: PgWire) => {
      const error = submit(wire)
      if (!error) this.#watch.sent()
      return error
    }
    query.submit = (wire) => (early === undefined ? submitCounted(wire) : early.error)
    return new Promise((resolve, reject) => {
      query.callback = (error, result) => {
        if (!error) return resolve(result)
        reject(error)
      }
      if (bounds !== undefined && client.pipeline === true) void this.#send(bounds).catch(() => undefined)
      else if (bounds !== undefined) {
        const hooks = {
          onSent: () => this.#watch.sent(),
          behind: (wire: PgWire) => {
            early = { error: submitCounted(wire) }
          },
        }
        // If the bounds fail, the transaction is aborted and the statement behind them says so.
        exchange(client, [bounds], hooks).catch(() => undefined)
      }
      client.query(query)
    })
  }

  async #finish(text: 'COMMIT' | 'ROLLBACK', milliseconds: number): Promise<PgResult> {
    this.#handleEnded = true
    this.#finishing = true
    this.#watch.transactionEnds()
    return await answeredWithin(
      milliseconds,
      text,
      this.#inTurn(() => this.#send({ text })),
    )
  }

  /** Runs a step behind all earlier ones. The next waits until the server has answered this one to its end. */
  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(step)
    const answered = () => this.#watch.answered()
    this.#turn = result.then(answered, answered)
    return result
  }
}

function beginText(isolation: IsolationLevel | undefined): string {
  return isolation === undefined ? 'BEGIN' : `BEGIN ISOLATION LEVEL ${isolation.toUpperCase()}`
}
