/**
 * The client's own limits, in one place; those of the wire stand in `@ticketing/protocol`. The unit comes last in each
 * name.
 */
import { leaseSecondsMax, leaseSecondsMin, waitSecondsMax } from '@ticketing/protocol'

/** How long an acquire may look for a leading session before it ends unsent (C15), and the most that can be asked for. */
export const connectSecondsDefault = 5
export const connectSecondsMax = 3600

/** How long a release tries, counted from the call (C11). */
export const releaseSecondsMax = 5

/** How long `close()` waits for pending releases. */
export const closeSecondsMax = releaseSecondsMax

/** A reply may come this much later than the wait of its acquire (C16). */
export const replyGraceSeconds = 5

/** While something waits on a session, pings go at this interval or more often (C9). */
export const waitingPingSecondsMax = 1

/** While something waits, so many pings go in the time of the shortest lease that is waited for (C9). */
export const pingsPerLease = 5

/** A session without anything pending pings at this interval, so that the server does not take it for idle. */
export const idlePingSeconds = 2

/** Pings that may be unanswered on one session; further ones would prove nothing more. */
export const unansweredPingsMax = 1000

/** Reconnecting backs off from the first to the greatest delay; each is drawn between 0 and its bound. */
export const reconnectMillisecondsFirst = 100
export const reconnectMillisecondsMax = 3200

/** A session that was ready for a shorter time counts as a failed attempt to connect. */
export const sessionSecondsMin = 1

/** Sessions kept open for acquires with a signal while none uses them (C10). */
export const idleSignalSessionsMax = 32

/** How long a session that was given up for a cancel is still read, so that a grant on its way can be given back. */
export const retiredSecondsMax = 1

/** A held ticket looks at the clocks at least this often, since the wall clock may have jumped. */
export const leaseCheckSeconds = 1

/** A timer that fires this much late means that the event loop stood still: what has arrived is read first. */
export const stallMilliseconds = 50

/** Past this, Node's timers fire at once. */
export const timerMillisecondsMax = 2 ** 31 - 1

// The relations that the code relies on. A change that breaks one must not load.
const timerSecondsMax = Math.max(connectSecondsMax, waitSecondsMax + replyGraceSeconds, leaseSecondsMax)
if (
  timerSecondsMax * 1000 > timerMillisecondsMax ||
  leaseSecondsMin / pingsPerLease > waitingPingSecondsMax ||
  reconnectMillisecondsFirst > reconnectMillisecondsMax
) {
  throw new Error('The limits of the client contradict each other.')
}
