import type { Outcome } from '@ticketing/client'

/**
 * - `FENCE_STALE_TOKEN`: the claim met a high-water or floor at or above the ticket's token (F1, F2).
 * - `FENCE_BLOCKED`: the claim waited for its row until its bound; the token was not judged (F4).
 * - `FENCE_NOT_MIGRATED`: the fence's tables do not exist, or their one floor row is missing.
 * - `FENCE_SCHEMA_TOO_NEW`: the tables were made by a newer version that this one must not write to.
 * - `FENCE_LEASE_TOO_SHORT`: less than the minimum work was left before the transaction began (F3).
 * - `FENCE_LEASE_EXPIRED`: the conservative lease ended inside the section (F1, F15).
 * - `FENCE_TX_ABORTED`: the database had aborted the transaction; its work is rolled back (F12).
 * - `FENCE_TX_ENDED`: the work itself ended the transaction (F12).
 * - `FENCE_HANDLE_ENDED`: a statement came after the end of its section (F14).
 * - `FENCE_COMMIT_FAILED`: the database refused COMMIT; nothing was written.
 * - `FENCE_COMMIT_UNKNOWN`: COMMIT was sent and its answer is lost (F6).
 * - `FENCE_NESTED`: a section inside a section of the same fence (F9).
 * - `FENCE_NO_SECTION`: something that needs a section was used outside one.
 * - `FENCE_NOT_CONFIGURED`: no fence is registered where one was looked up.
 * - `FENCE_OUTSIDE_SECTION`: a connection that is not the section's was used inside it.
 * - `FENCE_INVALID_ARGUMENT`: refused before anything was sent.
 */
export const fenceErrorCodes = [
  'FENCE_STALE_TOKEN',
  'FENCE_BLOCKED',
  'FENCE_NOT_MIGRATED',
  'FENCE_SCHEMA_TOO_NEW',
  'FENCE_LEASE_TOO_SHORT',
  'FENCE_LEASE_EXPIRED',
  'FENCE_TX_ABORTED',
  'FENCE_TX_ENDED',
  'FENCE_HANDLE_ENDED',
  'FENCE_COMMIT_FAILED',
  'FENCE_COMMIT_UNKNOWN',
  'FENCE_NESTED',
  'FENCE_NO_SECTION',
  'FENCE_NOT_CONFIGURED',
  'FENCE_OUTSIDE_SECTION',
  'FENCE_INVALID_ARGUMENT',
] as const

export type FenceErrorCode = (typeof fenceErrorCodes)[number]

const brand = Symbol.for('@ticketing/core/FenceError@1')

/**
 * The base of every error of the fence. `outcome` says what the caller may conclude about the section's writes:
 * `not-executed` (none is in the database), `unknown`, or `executed`. `instanceof` holds across copies of this package.
 */
export class FenceError extends Error {
  override readonly name: string = 'FenceError'
  readonly code: FenceErrorCode
  readonly outcome: Outcome

  constructor(code: FenceErrorCode, outcome: Outcome, message: string, options?: { cause?: unknown }) {
    super(message, options?.cause === undefined ? undefined : options)
    this.code = code
    this.outcome = outcome
    Object.defineProperty(this, brand, { value: true })
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isFenceError(value)
  }
}

function isFenceError(value: unknown): value is FenceError {
  return typeof value === 'object' && value !== null && brand in value
}

const overtaken =
  'so a later holder of this key has already written: this process lost its lease. If the work is still to be done, run ' +
  'a new section, which reads fresh data.'
const usedUp =
  'since this very ticket has already committed a section. A ticket commits one section; acquire a new one for the next.'

/** The database refused the ticket: a holder with a higher token has written since (F2). Nothing was written. */
export class StaleTokenError extends FenceError {
  override readonly name = 'StaleTokenError'
  readonly key: string
  /** The refused ticket's token. */
  readonly token: bigint
  /** The high-water, or the floor if that is what refused: the least value that the token had to pass. */
  readonly highWater: bigint

  constructor(key: string, token: bigint, highWater: bigint) {
    super(
      'FENCE_STALE_TOKEN',
      'not-executed',
      `The database refused the ticket for "${key}": its token ${token} is not above the stored high-water ${highWater}, ` +
        `${token === highWater ? usedUp : overtaken} Nothing of this transaction was written.`,
    )
    this.key = key
    this.token = token
    this.highWater = highWater
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isFenceError(value) && value.code === 'FENCE_STALE_TOKEN'
  }
}

const nothingSent = 'Nothing was sent to the lock service or the database'

/** An argument that the fence refuses, as a rule before anything is sent. `field` names it in the message. */
export function invalidArgument(field: string, fault: string, consequence: string = nothingSent): FenceError {
  return new FenceError('FENCE_INVALID_ARGUMENT', 'not-executed', `${field}: ${fault}. ${consequence}.`)
}

/** A value as a message shows it; never more of it than a line holds. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value)
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value === 'bigint') return `${value}n`
  return Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : typeof value
}
