/**
 * - `UNSUPPORTED_PLATFORM`: no embedded PostgreSQL is installed for this operating system and processor.
 * - `NO_ACCOUNT`: this process is root, PostgreSQL refuses to run as root, and no other account can be used.
 * - `NO_DIRECTORY`: no temporary directory that the server's account can reach.
 * - `INITDB_FAILED`: the data directory could not be made.
 * - `START_FAILED`: the server ended, or did not accept connections in time.
 */
export type EmbeddedPostgresErrorCode =
  | 'UNSUPPORTED_PLATFORM'
  | 'NO_ACCOUNT'
  | 'NO_DIRECTORY'
  | 'INITDB_FAILED'
  | 'START_FAILED'

/** Why an embedded PostgreSQL could not be started. Nothing is left running and no directory is left behind. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError'
  readonly code: EmbeddedPostgresErrorCode

  constructor(code: EmbeddedPostgresErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}
