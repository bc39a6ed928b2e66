import type { Clock, Moment, Timer } from '@ticketing/client/internal'

/** More timers than any test has in one step. */
const firedMax = 100_000

interface ManualTimer {
  readonly dueAt: number
  readonly callback: () => void
}

/** A clock that only moves when a test says so. */
export class ManualClock implements Clock {
  #monotonic = 5_000
  #wall = 1_700_000_000_000
  readonly #timers = new Set<ManualTimer>()

  now(): Moment {
    return { monotonic: this.#monotonic, wall: this.#wall }
  }

  setTimer(milliseconds: number, callback: () => void): Timer {
    const timer = { dueAt: this.#monotonic + milliseconds, callback }
    this.#timers.add(timer)
    return { cancel: () => this.#timers.delete(timer) }
  }

  setBackgroundTimer(milliseconds: number, callback: () => void): Timer {
    return this.setTimer(milliseconds, callback)
  }

  /** Real: tests let their bytes come over real sockets. */
  afterInput(callback: () => void): Timer {
    const immediate = setImmediate(callback)
    return { cancel: () => clearImmediate(immediate) }
  }

  get pendingTimers(): number {
    return this.#timers.size
  }

  /** Time passes and each timer fires at its own moment. */
  advance(milliseconds: number): void {
    const end = this.#monotonic + milliseconds
    let fired = 0
    for (let timer = this.#firstDue(end); timer !== undefined; timer = this.#firstDue(end)) {
      this.#moveTo(Math.max(timer.dueAt, this.#monotonic))
      this.#timers.delete(timer)
      timer.callback()
      if (++fired > firedMax) throw new Error('Timers that are due at once set each other again and again.')
    }
    this.#moveTo(end)
  }

  /** The event loop stands still: time passes, and no timer fires before {@link advance} is called. */
  stall(milliseconds: number): void {
    this.#moveTo(this.#monotonic + milliseconds)
  }

  /** The machine is suspended, or the wall clock is set: only the wall clock moves. */
  moveWall(milliseconds: number): void {
    this.#wall += milliseconds
  }

  #moveTo(monotonic: number): void {
    this.#wall += monotonic - this.#monotonic
    this.#monotonic = monotonic
  }

  #firstDue(end: number): ManualTimer | undefined {
    let first: ManualTimer | undefined
    for (const timer of this.#timers) {
      if (timer.dueAt <= end && (first === undefined || timer.dueAt < first.dueAt)) first = timer
    }
    return first
  }
}
