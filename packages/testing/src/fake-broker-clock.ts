import { type Duration, parseDuration } from '@ticketing/client'

/** The clock of a fake broker. It stands still until a test moves it. */
export interface ManualClock {
  /** Seconds since the broker was made. */
  readonly now: number
  /**
   * Moves the clock on. Every wait and lease that ends on the way ends at its own moment, in order, before this returns;
   * what awaits them runs when the test itself awaits. Whatever acts on the way has to be given the chance: advance in
   * smaller steps.
   *
   * @param by - seconds, or text such as `'31s'` or `'500ms'`; at most a day. Parts of a millisecond are rounded.
   * @throws {TicketError} `TICKET_INVALID_ARGUMENT`.
   */
  advance(by: Duration): void
}

/** Takes off what was to happen. */
export type CancelTimer = () => void

/** What comes first of all that is due at one moment: waits end, then clients notice, then leases end (S2, S3). */
export const turns = { waitEnds: 0, clientNotices: 1, leaseEnds: 2 } as const

interface DueEvent {
  readonly at: number
  readonly turn: number
  readonly run: () => void
}

const advanceRange = { min: 0, max: 86_400 }

/** A manual clock with timers. Inside, moments are whole milliseconds, so that seconds add up exactly. */
export class FakeClock implements ManualClock {
  #milliseconds = 0
  #isAdvancing = false
  readonly #due = new Set<DueEvent>()

  get now(): number {
    return this.#milliseconds / 1000
  }

  get milliseconds(): number {
    return this.#milliseconds
  }

  advance(by: Duration): void {
    if (this.#isAdvancing) {
      throw new Error('clock.advance was called by something that an advance of the clock has just brought about.')
    }
    const end = this.#milliseconds + Math.round(parseDuration('advance', by, advanceRange) * 1000)
    this.#isAdvancing = true
    try {
      for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
        this.#due.delete(next)
        this.#milliseconds = Math.max(this.#milliseconds, next.at)
        next.run()
      }
      this.#milliseconds = end
    } finally {
      this.#isAdvancing = false
    }
  }

  /** Runs something once the clock gets there, in its turn of that moment. */
  after(seconds: number, turn: number, run: () => void): CancelTimer {
    const event: DueEvent = { at: this.#milliseconds + Math.round(seconds * 1000), turn, run }
    this.#due.add(event)
    return () => {
      this.#due.delete(event)
    }
  }

  /** The first that is due until then; of equals, the one that was set first. */
  #next(end: number): DueEvent | undefined {
    let first: DueEvent | undefined
    for (const event of this.#due) {
      if (event.at > end) continue
      if (first === undefined || event.at < first.at || (event.at === first.at && event.turn < first.turn))
        first = event
    }
    return first
  }
}
