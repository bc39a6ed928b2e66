import { leaseExpired } from './commit-outcome.js'
import { FenceError } from './fence-errors.js'
import type { SectionTickets } from './section-tickets.js'

/** @throws {FenceError} `FENCE_LEASE_TOO_SHORT` (F3), `FENCE_LEASE_EXPIRED`. */
export function requireLease(tickets: SectionTickets, minWorkSeconds: number): void {
  if (leaseIsOver(tickets)) throw leaseExpired(undefined)
  const remaining = tickets.remaining()
  if (remaining >= minWorkSeconds) return
  throw new FenceError(
    'FENCE_LEASE_TOO_SHORT',
    'not-executed',
    `Only ${remaining.toFixed(3)} s of the lease were left when the transaction could begin, less than the minimum work of ` +
      `${minWorkSeconds} s: the wait for further keys or for a database connection took the rest. Nothing was written. ` +
      'Ask for a longer lease, or make the connection pool larger.',
  )
}

/** Below one millisecond the database could not be given a bound: 0 would mean none (F4). */
export function leaseIsOver(tickets: SectionTickets): boolean {
  return tickets.remaining() * 1000 < 1
}

/** The database counts whole milliseconds, so its bound may come that much before the lease is over here. */
export function endedByBound(tickets: SectionTickets, ended: boolean): boolean {
  return ended && tickets.remaining() * 1000 < 2
}

export function remainingMilliseconds(tickets: SectionTickets): number {
  return Math.floor(tickets.remaining() * 1000)
}
