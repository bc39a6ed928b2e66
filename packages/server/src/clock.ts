/** A timer that was set and may be set again for its whole time, or cleared. */
export interface Timer {
  refresh(): unknown
}

/** The monotonic clock and the timers of the shells. The lock table gets its `now` from here. */
export interface Clock {
  /** Milliseconds that never go back, read afresh at each call. */
  now(): number
  setTimer(milliseconds: number, action: () => void): Timer
  clearTimer(timer: Timer): void
}

/** The longest time that a timer may have; past it Node's timers fire at once. */
export const timerMillisecondsMax = 2 ** 31 - 1

/** This process's own clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer: (milliseconds, action) => setTimeout(action, milliseconds),
  clearTimer: (timer) => clearTimeout(timer as NodeJS.Timeout),
}
