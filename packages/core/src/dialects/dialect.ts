/**
 * One statement with its parameters, numbered `$1`, `$2`, … All are text, or lists of text: tokens in decimal, since a
 * JavaScript number would round them (F11), keys and attempts in hexadecimal, since drivers differ in how they bind bytes.
 */
export interface SqlStatement {
  readonly text: string
  readonly values: readonly (string | readonly string[])[]
}

/** A row as a driver returns it: by column name. Columns that the fence reads are text in every dialect. */
export type SqlRow = Readonly<Record<string, unknown>>

/** The two tables of a fence, quoted for the dialect. */
export interface FenceTables {
  /** As the user wrote it: `table` or `schema.table`. */
  readonly name: string
  readonly fence: string
  readonly floor: string
}

/** A key and the token to claim for it. */
export interface KeyClaim {
  readonly key: string
  readonly token: bigint
}

/** What the claim's rows say. */
export interface ClaimReceipt {
  /** How many of the keys were claimed; fewer than asked for is a refusal (F8). */
  readonly claimed: number
  /** The transaction's identity, to be compared before COMMIT (F12). */
  readonly identity: string | undefined
}

/** The stored values behind a refusal. */
export interface StoredTokens {
  readonly floor: bigint | undefined
  readonly schemaVersion: number | undefined
  /** By key; a key without a row is absent. */
  readonly highWaters: ReadonlyMap<string, bigint>
}

/**
 * What an error of the database means to a section, judged by its SQLSTATE alone.
 *
 * - `serialisation`: a serialisation failure or deadlock; a retry may succeed (F5).
 * - `blocked`: a bound ended the statement that waited (F4).
 * - `lease-ended`: the database ended the transaction by a bound of F4, for certain before COMMIT took effect.
 * - `no-table`: a table does not exist.
 * - `aborted`: the statement came after an error had aborted the transaction.
 * - `unknown`: after COMMIT, whether it took effect cannot be told (F6).
 * - `definite`: any other answer of the database; a COMMIT that got it was not executed.
 */
export type ErrorMeaning = 'serialisation' | 'blocked' | 'lease-ended' | 'no-table' | 'aborted' | 'unknown' | 'definite'

/** The SQL of one database. Every statement is a pure function of its arguments. */
export interface Dialect {
  readonly name: string
  /**
   * Splits and quotes a table name.
   *
   * @throws {FenceError} `FENCE_INVALID_ARGUMENT` where it is no name of a table or of schema and table.
   */
  tables(name: string): FenceTables
  /**
   * Bounds and claim in one statement (F1, F4, F7, F8): sets the transaction-local bounds, then moves the high-water of
   * every key whose token is above both the key's high-water and the floor. `claims` are in byte order of their keys.
   */
  claim(tables: FenceTables, claims: readonly KeyClaim[], attempt: Uint8Array, bounds: ClaimBounds): SqlStatement
  readClaim(rows: readonly SqlRow[]): ClaimReceipt
  /** Reads what stands against the claims, as it was before them, after a refusal, in the same transaction. */
  storedTokens(tables: FenceTables, keys: readonly string[]): SqlStatement
  readStoredTokens(keys: readonly string[], rows: readonly SqlRow[]): StoredTokens
  /** Reads the identity of the current transaction without giving it one (F12). */
  identity(): SqlStatement
  readIdentity(rows: readonly SqlRow[]): string | undefined
  /** A statement that fails and thereby aborts the transaction, so that it can only be rolled back. */
  abort(): SqlStatement
  /** The schema this version makes, and how it is made: statements that hold alone, run in this order in one transaction. */
  readonly migration: SchemaMigration
  /** @param sqlState - undefined where the database sent none: the connection failed. */
  errorMeaning(sqlState: string | undefined, fatal: boolean): ErrorMeaning
}

export interface SchemaMigration {
  /** Serialises concurrent migrations of one table until the end of the transaction. */
  lock(tables: FenceTables): SqlStatement
  /** Answers whether both tables exist; reading a table that does not would abort the transaction. */
  exists(tables: FenceTables): SqlStatement
  readExists(rows: readonly SqlRow[]): boolean
  version(tables: FenceTables): SqlStatement
  /** Undefined where the floor row is missing. */
  readVersion(rows: readonly SqlRow[]): number | undefined
  /** Creates what is missing of the current schema; statements without parameters. */
  create(tables: FenceTables): readonly SqlStatement[]
  /** Removes the schema and every high-water with it; statements without parameters. */
  drop(tables: FenceTables): readonly SqlStatement[]
}

export interface ClaimBounds {
  /** Milliseconds after which the database ends the transaction; at least 1. */
  readonly transactionMilliseconds: number
  /** Milliseconds that the claim may wait for a row; at least 1, less than the above where that leaves room. */
  readonly claimMilliseconds: number
}
