/** What of a native node-postgres client is used when a library hides it, described structurally. */
export interface NativePgClient {
  /** The protocol side; it emits each message of the server by its name. Absent in the libpq binding. */
  readonly connection?: NativePgWire
  query(...args: unknown[]): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}

export interface NativePgWire {
  /** The texts of the prepared statements that node-postgres knows of, by name. */
  readonly parsedStatements?: Record<string, string>
  prependListener(event: string, listener: (message: never) => void): unknown
  off(event: string, listener: (message: never) => void): unknown
}
