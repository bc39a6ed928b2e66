import type { KeyClaim, SqlRow } from '../../src/index.js'

/** An error as a database sends it. */
export class DatabaseError extends Error {
  readonly sqlState: string
  readonly fatal: boolean

  constructor(sqlState: string, fatal = false) {
    super(`the database says ${sqlState}`)
    this.sqlState = sqlState
    this.fatal = fatal
  }
}

/** What happens at a step before its answer: it may wait, let time pass, or throw the answer. */
export type Act = () => unknown

/** What a fence's statement asks for, as the recording dialect knows it. */
export type FenceQuery =
  | { readonly kind: 'claim'; readonly claims: readonly KeyClaim[] }
  | { readonly kind: 'stored tokens'; readonly keys: readonly string[] }
  | { readonly kind: 'identity' }
  | { readonly kind: 'abort' }

/** A database of one fence table: what was committed, every step in order, and the faults that a test scripts. */
export class FakeDatabase {
  readonly journal: string[]
  readonly highWaters = new Map<string, bigint>()
  /** The floor row; undefined where it is missing. */
  floor: { floor: bigint; schemaVersion: number } | undefined = { floor: 0n, schemaVersion: 100 }
  /** The statements of the work that were committed. */
  readonly committed: string[] = []
  readonly #acts = new Map<string, Act[]>()
  #lastTransaction = 700

  constructor(journal: string[]) {
    this.journal = journal
  }

  /** Scripts what happens at the next steps of this name, one act for each. */
  at(step: string, ...acts: Act[]): void {
    this.#acts.set(step, [...(this.#acts.get(step) ?? []), ...acts])
  }

  async step(name: string): Promise<void> {
    this.journal.push(name)
    await this.#acts.get(name)?.shift()?.()
  }

  nextTransaction(): number {
    this.#lastTransaction += 1
    return this.#lastTransaction
  }
}

/** One connection: the transaction on it, what that transaction wrote, and what became of it. */
export class FakeConnection {
  readonly #database: FakeDatabase
  #transaction: number | undefined
  #writes: string[] = []
  #claimed = new Map<string, bigint>()
  aborted = false
  lost = false
  /** The transaction that began was ended by a statement of the work. */
  ended = false
  /** A ROLLBACK left a transaction open: a savepoint's, or AND CHAIN. */
  rolledBack = false
  firstError: unknown

  constructor(database: FakeDatabase) {
    this.#database = database
  }

  get inTransaction(): boolean {
    return this.#transaction !== undefined
  }

  async begin(): Promise<void> {
    await this.#answered('BEGIN')
    this.#open()
  }

  async fenceQuery(query: FenceQuery): Promise<SqlRow[]> {
    await this.#answered(
      query.kind === 'claim' ? `claim ${query.claims.map((claim) => claim.key).join(' ')}` : query.kind,
    )
    if (query.kind === 'claim') return this.#claim(query.claims)
    if (query.kind === 'abort') throw this.#abort()
    if (query.kind === 'identity') return [{ identity: this.#transaction?.toString() ?? null }]
    const { floor, highWaters } = this.#database
    return query.keys.map((key, index) => ({
      n: String(index + 1),
      token: highWaters.get(key)?.toString() ?? null,
      floor: floor?.floor.toString() ?? null,
      schema_version: floor?.schemaVersion.toString() ?? null,
    }))
  }

  /** A statement of the work, which may be one that ends its transaction. */
  async userQuery(text: string): Promise<SqlRow[]> {
    await this.#answered(text)
    const [verb, ...rest] = text.split(' ')
    if (verb === 'COMMIT' || (verb === 'ROLLBACK' && rest[0] !== 'TO')) {
      this.#close(verb === 'COMMIT')
      if (rest.join(' ') === 'AND CHAIN') this.#open()
      this.ended ||= verb === 'COMMIT' || this.#transaction === undefined
    } else if (verb === 'BEGIN') {
      this.ended = true
      if (this.#transaction === undefined) this.#open()
    } else if (verb === 'ROLLBACK') {
      this.aborted = false
    } else if (this.#transaction === undefined) {
      this.#database.committed.push(text)
    } else {
      this.#writes.push(text)
    }
    this.rolledBack ||= verb === 'ROLLBACK' && this.#transaction !== undefined
    return [{ text }]
  }

  /** COMMIT or ROLLBACK by the section's host. */
  async end(command: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    await this.#answered(command)
    this.#close(command === 'COMMIT')
  }

  #claim(claims: readonly KeyClaim[]): SqlRow[] {
    const { highWaters, floor } = this.#database
    if (floor === undefined || floor.schemaVersion >= 200) return []
    const passed = claims.filter(({ key, token }) => token > (highWaters.get(key) ?? 0n) && token > floor.floor)
    const transaction = this.#transaction ?? this.#database.nextTransaction()
    for (const { key, token } of passed) {
      // Outside a transaction it commits by itself.
      if (this.#transaction === undefined) highWaters.set(key, token)
      else this.#claimed.set(key, token)
    }
    return passed.map(() => ({ identity: String(transaction), resend: 'false' }))
  }

  #abort(): DatabaseError {
    this.aborted = this.inTransaction
    return new DatabaseError('22P02')
  }

  async #answered(step: string): Promise<void> {
    try {
      if (this.lost) throw new Error('the connection is closed')
      await this.#database.step(step)
      if (this.aborted && !/^(ROLLBACK|COMMIT)/.test(step)) throw new DatabaseError('25P02')
    } catch (error) {
      this.firstError ??= error
      if (error instanceof DatabaseError && !error.fatal) this.aborted = true
      else this.lost = true
      throw error
    }
  }

  #open(): void {
    this.#transaction = this.#database.nextTransaction()
  }

  #close(commits: boolean): void {
    if (commits && !this.aborted) {
      this.#database.committed.push(...this.#writes)
      for (const [key, token] of this.#claimed) this.#database.highWaters.set(key, token)
    }
    this.#writes = []
    this.#claimed = new Map()
    this.#transaction = undefined
    this.aborted = false
  }
}
