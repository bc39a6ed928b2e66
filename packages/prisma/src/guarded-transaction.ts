import type { SqlRow, SqlStatement } from '@ticketing/core'
import {
  answeredWithin,
  commitMillisecondsMax,
  PgGuard,
  type PgStatement,
  type PgWatch,
  queryPrepared,
  rollbackMillisecondsMax,
} from '@ticketing/core/pg-driver'
import type { DriverTransaction, PoolClient, SqlQuery } from './driver-adapter.js'
import { takeExpected } from './expected-claims.js'

/** What a section says to the driver's transaction that it runs in. */
export interface BoundSection {
  /** Whether this claim is to be kept as a prepared statement of each connection. */
  prepares(text: string): boolean
  /** What Prisma is to send now that the section has ended; before that, an ending is the work's own. */
  readonly ending: 'COMMIT' | 'ROLLBACK' | undefined
  /** Why a statement of the work must not be sent; undefined lets it pass. */
  verdict(): Error | undefined
  onConnectionDestroyed(error: unknown): void
}

/** Prisma's number for a column of text; every column of the fence is text. */
const textColumn = 7

/** How long an ending may go without an answer. Prisma sends it as a statement of its own. */
const endings: Readonly<Record<string, number>> = {
  COMMIT: commitMillisecondsMax,
  ROLLBACK: rollbackMillisecondsMax,
}

/** Stands between Prisma and one transaction of the driver adapter. */
export class GuardedTransaction implements DriverTransaction {
  readonly #inner: DriverTransaction
  readonly #connection: PoolClient
  readonly #beginning: readonly string[]
  readonly watch: PgWatch
  #section: BoundSection | undefined
  #guard: PgGuard | undefined
  #failure: unknown
  /** The driver's own error of a claim that failed, of which Prisma makes one that tells less. */
  claimError: unknown

  /** @param beginning - the statements that began the transaction. */
  constructor(inner: DriverTransaction, connection: PoolClient, watch: PgWatch, beginning: readonly string[]) {
    this.#inner = inner
    this.#beginning = beginning
    this.#connection = connection
    this.watch = watch
    // What the adapter says of itself (provider, options, savepoints) holds for this one too.
    for (const name of ['provider', 'adapterName', 'options']) {
      Object.defineProperty(this, name, {
        value: (inner as unknown as Record<string, unknown>)[name],
        enumerable: true,
      })
    }
  }

  /** From here on the transaction is a section's, and the guard asks the section. */
  bind(section: BoundSection): void {
    this.#section = section
    this.#guard = new PgGuard(this.#connection, () => section.verdict())
  }

  /** Runs a statement of the fence itself. */
  async query(text: string, values: readonly unknown[]): Promise<unknown[]> {
    const send = () => this.#connection.query({ text, values: [...values] }) as Promise<{ rows: unknown[] }>
    return (await this.#passing(send)).rows
  }

  /** Resolves once no statement is still running. */
  async settled(): Promise<void> {
    await this.#guard?.settled()
    await this.watch.answered()
  }

  async queryRaw(query: SqlQuery): Promise<unknown> {
    const bind = this.#section === undefined ? takeExpected(query.args) : undefined
    if (bind === undefined) return await this.#inner.queryRaw(query)
    bind(this)
    const result =
      this.#section?.prepares(query.sql) === true ? await this.#claim(query) : await this.#inner.queryRaw(query)
    // From here on the watch looks for what ends the transaction.
    this.watch.transactionBegan()
    return result
  }

  /** The claim as a prepared statement, which the adapter does not make without a name generator for all statements. */
  async #claim({ sql, args }: SqlQuery): Promise<unknown> {
    const send = (statement: PgStatement) =>
      this.#passing(() => this.#connection.query(statement)) as Promise<{ rows: SqlRow[] }>
    const statement = { text: sql, values: args as SqlStatement['values'] }
    const rows = await queryPrepared(this.#connection, statement, this.#beginning, send).catch((error: unknown) => {
      this.claimError = error
      throw error
    })
    const columnNames = Object.keys(rows[0] ?? {})
    return { columnNames, columnTypes: columnNames.map(() => textColumn), rows: rows.map((row) => Object.values(row)) }
  }

  async executeRaw(query: SqlQuery): Promise<number> {
    const milliseconds = query.args.length === 0 ? endings[query.sql] : undefined
    if (milliseconds === undefined) return await this.#inner.executeRaw(query)
    try {
      return await answeredWithin(milliseconds, query.sql, this.#end(query))
    } catch (error) {
      this.#failure ??= this.watch.lossError ?? error
      throw error
    }
  }

  async createSavepoint(name: string): Promise<void> {
    await this.#inner.executeRaw(statement(`SAVEPOINT ${name}`))
  }

  async rollbackToSavepoint(name: string): Promise<void> {
    await this.#inner.executeRaw(statement(`ROLLBACK TO SAVEPOINT ${name}`))
  }

  async releaseSavepoint(name: string): Promise<void> {
    await this.#inner.executeRaw(statement(`RELEASE SAVEPOINT ${name}`))
  }

  /** Prisma is done with the connection; what the adapter does is to give it back. */
  async commit(): Promise<void> {
    this.#leave()
    await this.#inner.commit()
  }

  async rollback(): Promise<void> {
    this.#leave()
    await this.#inner.rollback()
  }

  async #end(query: SqlQuery): Promise<number> {
    const own = this.#section?.ending === query.sql
    return own ? await this.#passing(() => this.#inner.executeRaw(query)) : await this.#inner.executeRaw(query)
  }

  #passing<T>(send: () => T): T {
    return this.#guard === undefined ? send() : this.#guard.pass(send)
  }

  /** The adapter gives every connection back as sound; one that is not is destroyed instead (F13). */
  #leave(): void {
    const sound = this.#failure === undefined && this.watch.idle && !this.watch.lost
    this.watch.stop()
    this.#guard?.remove()
    if (sound) return
    const reason = this.#failure ?? this.watch.firstError ?? new Error('The connection was still in a transaction.')
    const connection = this.#connection
    const release = connection.release.bind(connection)
    // A broken connection may still speak while its pool closes it; nobody else listens to it any more.
    connection.on('error', () => undefined)
    connection.release = () => release(reason instanceof Error ? reason : true)
    this.#section?.onConnectionDestroyed(reason)
  }
}

function statement(sql: string): SqlQuery & { argTypes: [] } {
  return { sql, args: [], argTypes: [] }
}
