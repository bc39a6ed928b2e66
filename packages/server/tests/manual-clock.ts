import type { Clock, Timer } from '../src/clock.js'

interface ManualTimer extends Timer {
  readonly milliseconds: number
  readonly action: () => void
  dueAt: number
}

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #now = 1000
  readonly #timers = new Set<ManualTimer>()

  now(): number {
    return this.#now
  }

  setTimer(milliseconds: number, action: () => void): Timer {
    const timer: ManualTimer = {
      milliseconds,
      action,
      dueAt: this.#now + milliseconds,
      refresh: () => {
        timer.dueAt = this.#now + milliseconds
        this.#timers.add(timer)
      },
    }
    this.#timers.add(timer)
    return timer
  }

  clearTimer(timer: Timer): void {
    this.#timers.delete(timer as ManualTimer)
  }

  /** Lets time pass and runs what falls due, in order. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds
    for (;;) {
      const [next] = [...this.#timers].sort((a, b) => a.dueAt - b.dueAt)
      if (next === undefined || next.dueAt > end) break
      this.#now = Math.max(this.#now, next.dueAt)
      this.#timers.delete(next)
      next.action()
    }
    this.#now = end
  }

  /** Lets time pass without any timer, as during a stall of the event loop. */
  stall(milliseconds: number): void {
    this.#now += milliseconds
  }
}
