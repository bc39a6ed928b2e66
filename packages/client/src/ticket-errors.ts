/**
 * - `TICKET_TIMEOUT`: the wait ended without a grant.
 * - `TICKET_BUSY`: the server refused for capacity (C5).
 * - `TICKET_INDETERMINATE`: the request may have been sent and its answer is lost (C3); a grant may exist until its lease ends.
 * - `TICKET_NOT_CONNECTED`: no leading session within the connect budget; never sent (C15).
 * - `TICKET_CANCELLED`: the caller's signal aborted (C10).
 * - `TICKET_LEASE_TOO_SHORT`: granted with less than the minimum work left; given back (C9).
 * - `TICKET_RELEASE_UNCONFIRMED`: no final answer to a release within 5 s (C11).
 * - `TICKET_AUTH_FAILED`: no client token of the server matches the secret (C14, C15).
 * - `TICKET_INVALID_ARGUMENT`: refused before anything was sent (C13).
 * - `TICKET_PROTOCOL`: the peer broke the wire format or its order (C7, C8).
 * - `TICKET_CLOSED`: the broker is closed.
 * - `TICKET_LEASE_OVER`: the reason of a ticket's signal when the conservative lease ended (C9).
 */
export type TicketErrorCode =
  | 'TICKET_TIMEOUT'
  | 'TICKET_BUSY'
  | 'TICKET_INDETERMINATE'
  | 'TICKET_NOT_CONNECTED'
  | 'TICKET_CANCELLED'
  | 'TICKET_LEASE_TOO_SHORT'
  | 'TICKET_RELEASE_UNCONFIRMED'
  | 'TICKET_AUTH_FAILED'
  | 'TICKET_INVALID_ARGUMENT'
  | 'TICKET_PROTOCOL'
  | 'TICKET_CLOSED'
  | 'TICKET_LEASE_OVER'

/** What the caller may conclude about the request: it took no effect, it may have, or it did. */
export type Outcome = 'not-executed' | 'unknown' | 'executed'

const brand = Symbol.for('@ticketing/client/TicketError@1')

/** The base of every error of this layer. `instanceof` holds across copies of this package (ESM and CommonJS). */
export class TicketError extends Error {
  override readonly name = 'TicketError'
  readonly code: TicketErrorCode
  readonly outcome: Outcome

  constructor(code: TicketErrorCode, outcome: Outcome, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
    this.outcome = outcome
    Object.defineProperty(this, brand, { value: true })
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value
  }
}
