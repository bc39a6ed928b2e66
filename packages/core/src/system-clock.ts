/** Milliseconds that only grow, from an arbitrary start. */
export type MonotonicClock = () => number

/** The process's own monotonic clock. */
export const systemClock: MonotonicClock = () => performance.now()
