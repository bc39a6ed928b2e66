/**
 * What this adapter calls of node-postgres, described structurally, so that any compatible copy or subclass of it fits.
 */

/** A row as node-postgres returns it. */
export type PgRow = Record<string, unknown>

export interface PgField {
  readonly name: string
  readonly dataTypeID: number
}

/** The result of one statement. */
export interface PgResult<Row = PgRow> {
  readonly rows: Row[]
  readonly rowCount: number | null
  readonly command: string
  readonly fields: readonly PgField[]
}

/** A statement with its settings, as `client.query` takes it. */
export interface PgQueryConfig {
  readonly text: string
  readonly values?: readonly unknown[] | undefined
  /** A name makes it a prepared statement of this connection. */
  readonly name?: string | undefined
  readonly rowMode?: 'array' | undefined
  readonly types?: unknown
  readonly query_timeout?: number | undefined
}

/** A pool of node-postgres. */
export interface PgPool {
  connect(): Promise<{ release(destroy?: Error | boolean): void }>
}

/** A client of node-postgres on which the caller has begun a transaction: a `PoolClient` or a `Client`. */
export interface PgCallerClient {
  query(config: { text: string; values: unknown[] }): Promise<{ rows: PgRow[] }>
  getTransactionStatus?(): string | null
}

/** The protocol side of a client: writes messages, emits each message of the server by its name. */
export interface PgWire {
  readonly stream: { readonly writable: boolean; write(bytes: Uint8Array): unknown }
  parse(message: { text: string; name: string }): void
  bind(message: { statement: string; values: readonly unknown[]; valueMapper: (value: unknown) => unknown }): void
  describe(message: { type: 'P'; name: '' }): void
  execute(message: object): void
  sync(): void
  on(event: string, listener: (message: never) => void): unknown
  prependListener(event: string, listener: (message: never) => void): unknown
  off(event: string, listener: (message: never) => void): unknown
}

/** Anything that `client.query` sends by calling `submit`, once its turn has come. */
export interface PgSubmittable {
  submit(wire: PgWire): Error | null | undefined
}

/** node-postgres' own query object. */
export interface PgQuery extends PgSubmittable {
  callback: ((error: Error | null | undefined, result: PgResult) => void) | undefined
  query_timeout?: number | undefined
}

export interface PgClient {
  readonly connection: PgWire
  readonly pipeline?: boolean
  query(submittable: PgSubmittable): unknown
  query(config: PgQueryConfig): Promise<PgResult>
  /** pg ≥ 8.21: `I`, `T` or `E` of the last ReadyForQuery. */
  getTransactionStatus?(): string | null
  release(destroy?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}

export type PgQueryConstructor = new (config: PgQueryConfig) => PgQuery

/** The Query class of the same copy of node-postgres that made this client. */
export function queryClassOf(client: PgClient): PgQueryConstructor {
  return (client.constructor as unknown as { Query: PgQueryConstructor }).Query
}
