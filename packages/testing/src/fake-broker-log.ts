import type { TicketErrorCode } from '@ticketing/client'

/**
 * One thing that happened at a fake broker:
 *
 * - `queued`: an acquire waits for its key.
 * - `granted`: the key has a new holder, whether or not its answer has arrived.
 * - `refused`: an acquire ended without a grant; `code` says how.
 * - `cancelled`: an acquire was given up by its signal, or because the broker was closed.
 * - `released`: the holder's token was given back, by its ticket or for it.
 * - `not-current`: a release came for a token that was not the holder's.
 * - `expired`: the lease of the holder ended.
 * - `lost`: a request or an answer got lost; `code` is what its caller gets.
 */
export interface FakeBrokerEvent {
  readonly event: 'queued' | 'granted' | 'refused' | 'cancelled' | 'released' | 'not-current' | 'expired' | 'lost'
  readonly key: string
  /** Seconds on the broker's clock. */
  readonly at: number
  readonly token?: bigint
  readonly code?: TicketErrorCode
}

/** Writes one event at the present moment. */
export type WriteEvent = (event: Omit<FakeBrokerEvent, 'at'>) => void
