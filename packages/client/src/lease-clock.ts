import type { Clock, Moment } from './environment.js'

/**
 * Milliseconds since a moment, by the clock that moved further: the monotonic clock stops during a suspend, the wall
 * clock may be set back. So the answer may be too great, never too small (C9).
 */
export function elapsedMilliseconds(since: Moment, now: Moment): number {
  return Math.max(now.monotonic - since.monotonic, now.wall - since.wall)
}

/** The later of two moments for which it is proven that a grant did not happen before them (C9). */
export function laterMoment(a: Moment, b: Moment | undefined): Moment {
  return b !== undefined && b.monotonic > a.monotonic ? b : a
}

/** Counts one lease conservatively: from a moment for which it is proven that the grant did not happen before it (C9). */
export class LeaseClock {
  readonly #clock: Clock
  readonly #provenAt: Moment
  readonly #leaseMilliseconds: number

  constructor(clock: Clock, provenAt: Moment, leaseSeconds: number) {
    this.#clock = clock
    this.#provenAt = provenAt
    this.#leaseMilliseconds = leaseSeconds * 1000
  }

  /** Seconds that certainly remain, never negative. */
  remainingSeconds(): number {
    const elapsed = elapsedMilliseconds(this.#provenAt, this.#clock.now())
    return Math.max(0, this.#leaseMilliseconds - elapsed) / 1000
  }
}
