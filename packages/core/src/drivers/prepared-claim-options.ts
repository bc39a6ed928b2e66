import { invalidArgument } from '../fence-errors.js'

export interface PreparedClaimOptions {
  /**
   * Keep the claim as a prepared statement of each connection; default true. Turn it off behind a pooler that does not
   * support prepared statements in transaction mode (PgBouncer before 1.21).
   */
  readonly prepare?: boolean | undefined
}

/** @throws {FenceError} `FENCE_INVALID_ARGUMENT`. */
export function checkPrepare(options: PreparedClaimOptions | undefined): boolean {
  const prepare: unknown = options?.prepare ?? true
  if (typeof prepare === 'boolean') return prepare
  throw invalidArgument('prepare', 'must be true or false')
}
