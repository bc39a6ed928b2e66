import { brokerClosed, notReady } from './acquire-errors.js'
import { setDeadline } from './deadline.js'
import type { Clock, Timer } from './environment.js'
import type { SessionEnd } from './session-end.js'
import type { TicketError } from './ticket-errors.js'

/** What {@link Readiness} asks about the sessions. */
export interface LeadingSessions {
  readonly leading: unknown
  readonly lastFailure: SessionEnd | undefined
}

interface Waiter {
  readonly timer: Timer
  readonly resolve: () => void
  readonly reject: (error: TicketError) => void
}

/** Those who wait for the first leading session. */
export class Readiness {
  readonly #clock: Clock
  readonly #sessions: LeadingSessions
  readonly #waiters = new Set<Waiter>()

  constructor(clock: Clock, sessions: LeadingSessions) {
    this.#clock = clock
    this.#sessions = sessions
  }

  wait(seconds: number): Promise<void> {
    if (this.#sessions.leading !== undefined) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const timer = setDeadline(this.#clock, this.#clock.now().monotonic + seconds * 1000, () => {
        this.#waiters.delete(waiter)
        reject(notReady('The broker is not ready', `within ${seconds} s`, this.#sessions.lastFailure))
      })
      const waiter: Waiter = { timer, resolve, reject }
      this.#waiters.add(waiter)
    })
  }

  /** There may be a leading session now. */
  check(): void {
    if (this.#sessions.leading === undefined) return
    this.#endAll((waiter) => waiter.resolve())
  }

  brokerCloses(): void {
    this.#endAll((waiter) => waiter.reject(brokerClosed('waitReady')))
  }

  #endAll(end: (waiter: Waiter) => void): void {
    for (const waiter of this.#waiters) {
      waiter.timer.cancel()
      end(waiter)
    }
    this.#waiters.clear()
  }
}
