import type { TicketError } from './ticket-errors.js'

/** Seconds as a number, or a string with a unit: `'500ms'`, `'5s'`. Fractions of a second are rounded up (C13). */
export type Duration = number | `${number}ms` | `${number}s`

/** What an acquire asks for. */
export interface AcquireOptions {
  /** How long to queue, 0–255 s; 0 is one immediate try without queueing. */
  readonly wait: Duration
  /** How long the grant holds if nobody releases it, 1–250 s. */
  readonly lease: Duration
  /** The least remaining lease with which the caller is still willing to start; 0 up to the lease (C9). */
  readonly minWork: Duration
  /** Cancels the acquire (C10). It has no effect on a ticket that was already handed out. */
  readonly signal?: AbortSignal | undefined
}

/** How a release ended: both are answers of the server, neither is an error (C4). */
export type ReleaseResult = 'released' | 'not-current'

/** How an acquire ended, as a value. Only `granted` carries a ticket. */
export type AcquireResult =
  | { readonly status: 'granted'; readonly ticket: Ticket }
  | {
      readonly status: 'timeout' | 'busy' | 'indeterminate' | 'not-connected' | 'cancelled' | 'lease-too-short'
      readonly error: TicketError
    }

/** A key that is held for a lease, with its fencing token. */
export interface Ticket {
  readonly key: string
  /** Strictly greater than every token granted before it, of any key. */
  readonly token: bigint
  /**
   * Aborts when the conservative lease ends (C9). Its reason is a `TicketError`. A release does not abort it; once the
   * release was answered, it never aborts.
   */
  readonly signal: AbortSignal
  /** Seconds of the lease that certainly remain, never negative (C9); 0 once {@link release} was called. */
  remaining(): number
  /**
   * Releases exactly this grant and tries for at most 5 s (C11). Called again, it shares the first call's result and
   * sends nothing; only after it was unconfirmed does a new call try anew. Where a connection was lost and the release
   * sent again on another, `'not-current'` may mean that the first copy did it.
   *
   * @throws {TicketError} `TICKET_RELEASE_UNCONFIRMED` where no final answer came: the grant may last until its lease ends.
   * `TICKET_CLOSED` where the broker was closed before the call.
   */
  release(): Promise<ReleaseResult>
  /** A bounded, best-effort release (C12): it never rejects. Where the result matters, call {@link release}. */
  [Symbol.asyncDispose](): Promise<void>
}

/** What a fence needs from a lock service. `TicketBroker` is one; a fake in a test is another. */
export interface Broker {
  /**
   * Queues for a key and resolves once it is held.
   *
   * @throws {TicketError} where no ticket was obtained; its `outcome` tells whether a grant may exist.
   */
  acquire(key: string, options: AcquireOptions): Promise<Ticket>
}
