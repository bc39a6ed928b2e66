import {
  answerLost,
  cancelled,
  closedWhilePending,
  leaseTooShort,
  neverConnected,
  notInTime,
  refusedAsBusy,
} from './acquire-errors.js'
import type { AcquireSettings } from './acquire-options.js'
import type { Ticket } from './broker.js'
import { setDeadline } from './deadline.js'
import type { Clock, Moment, Timer } from './environment.js'
import { LeaseClock } from './lease-clock.js'
import type { AcquireRequest } from './pending-requests.js'
import type { ReleaseLane } from './release-lane.js'
import type { Session } from './session.js'
import type { SessionEnd } from './session-end.js'
import { HeldTicket } from './ticket.js'
import type { TicketError } from './ticket-errors.js'

/** Finds sessions for attempts. */
export interface AcquireRoute {
  /** Why there is no leading session, if that is so. */
  readonly lastFailure: SessionEnd | undefined
  /** Sends the attempt on a leading session, now or as soon as there is one. */
  place(attempt: AcquireAttempt): void
  /** The attempt has its outcome. */
  forget(attempt: AcquireAttempt): void
}

/** What all attempts of a broker share. */
export interface AttemptSurroundings {
  readonly clock: Clock
  readonly connectSeconds: number
  readonly lane: ReleaseLane
  settled(attempt: AcquireAttempt): void
}

/**
 * One acquire from the call to its single outcome. It is sent at most once. A grant that comes when the outcome stands
 * already (cancelled, or the broker closed) is given back by its exact token (C8, C10).
 */
export class AcquireAttempt implements AcquireRequest {
  readonly owner: string
  readonly key: string
  readonly waitSeconds: number
  readonly leaseSeconds: number
  readonly signal: AbortSignal | undefined
  readonly promise: Promise<Ticket>
  readonly #settings: AcquireSettings
  readonly #route: AcquireRoute
  readonly #around: AttemptSurroundings
  /** Monotonic milliseconds at which the attempt ends if it is unsent (C15). */
  readonly #connectBy: number
  #session: Session | undefined
  #connectTimer: Timer | undefined
  #isSettled = false
  #resolve!: (ticket: Ticket) => void
  #reject!: (error: TicketError) => void

  constructor(owner: string, settings: AcquireSettings, route: AcquireRoute, around: AttemptSurroundings) {
    this.owner = owner
    this.key = settings.key
    this.waitSeconds = settings.waitSeconds
    this.leaseSeconds = settings.leaseSeconds
    this.signal = settings.signal
    this.#settings = settings
    this.#route = route
    this.#around = around
    this.#connectBy = around.clock.now().monotonic + around.connectSeconds * 1000
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** Whether the attempt was given to a session. */
  get isPlaced(): boolean {
    return this.#session !== undefined
  }

  /** There is no session yet: the connect budget runs (C15). */
  awaitSession(): void {
    if (this.#connectTimer !== undefined) return
    this.#connectTimer = setDeadline(this.#around.clock, this.#connectBy, () => {
      this.#fail(neverConnected(this.#settings, this.#around.connectSeconds, this.#route.lastFailure))
    })
  }

  /** Sends the acquire. Its lease is counted from before its bytes leave (C9). */
  sendOn(session: Session): void {
    this.#connectTimer?.cancel()
    this.#connectTimer = undefined
    this.#session = session
    session.acquire(this, this.#around.clock.now())
  }

  /** The caller's signal aborted (C10). */
  cancel(): void {
    this.#fail(cancelled(this.#settings, this.#session?.mayHaveSent(this.owner) ?? false))
  }

  /** The broker closes. Frames that were gathered for a session still leave, so being placed counts as being sent. */
  brokerCloses(): void {
    this.#fail(closedWhilePending(this.#settings, this.isPlaced))
  }

  granted(token: bigint, provenAt: Moment): void {
    const { clock, lane } = this.#around
    const { minWorkSeconds } = this.#settings
    const lease = new LeaseClock(clock, provenAt, this.leaseSeconds)
    const remaining = lease.remainingSeconds()
    if (this.#isSettled) {
      lane.giveBack(this.key, token)
    } else if (remaining > 0 && remaining >= minWorkSeconds) {
      this.#settle()
      this.#resolve(new HeldTicket(this.key, token, lease, clock, lane, this.#session))
    } else {
      lane.giveBack(this.key, token)
      this.#fail(leaseTooShort(this.#settings, remaining))
    }
  }

  notInTime(): void {
    this.#fail(notInTime(this.#settings))
  }

  busy(): void {
    this.#fail(refusedAsBusy(this.#settings))
  }

  lost(end: SessionEnd, maySent: boolean): void {
    if (this.#isSettled) return
    if (maySent) {
      this.#fail(answerLost(this.#settings, end.error))
    } else {
      this.#session = undefined
      this.#route.place(this)
    }
  }

  #fail(error: TicketError): void {
    if (this.#isSettled) return
    this.#settle()
    this.#reject(error)
  }

  #settle(): void {
    this.#isSettled = true
    this.#connectTimer?.cancel()
    this.#route.forget(this)
    this.#around.settled(this)
  }
}
