/**
 * - `SERVER_INVALID_OPTION`: an option is unknown, out of its range, or contradicts another.
 * - `SERVER_LISTEN_FAILED`: the address could not be listened on.
 * - `SERVER_TOKENS_EXHAUSTED`: the first token would be above 2^62 (S10).
 */
export type ServerErrorCode = 'SERVER_INVALID_OPTION' | 'SERVER_LISTEN_FAILED' | 'SERVER_TOKENS_EXHAUSTED'

const brand = Symbol.for('@ticketing/server/ServerError@1')

/** Why no server was started. `instanceof` holds across copies of this package (ESM and CommonJS). */
export class ServerError extends Error {
  override readonly name = 'ServerError'
  readonly code: ServerErrorCode
  /** Nothing was started, and nothing is left behind. */
  readonly outcome = 'not-executed'

  constructor(code: ServerErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
    Object.defineProperty(this, brand, { value: true })
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value
  }
}
