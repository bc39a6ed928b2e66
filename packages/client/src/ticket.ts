import type { ReleaseResult, Ticket } from './broker.js'
import type { Clock, Timer } from './environment.js'
import type { LeaseClock } from './lease-clock.js'
import { leaseCheckSeconds } from './limits.js'
import type { ReleaseLane } from './release-lane.js'
import type { Session } from './session.js'
import { TicketError } from './ticket-errors.js'

/** The ticket that {@link TicketBroker.acquire} hands out. */
export class HeldTicket implements Ticket {
  readonly key: string
  readonly token: bigint
  readonly #lease: LeaseClock
  readonly #clock: Clock
  readonly #lane: ReleaseLane
  readonly #grantedOn: Session | undefined
  #over: AbortController | undefined
  #check: Timer | undefined
  #release: Promise<ReleaseResult> | undefined
  #releaseFailed = false
  #wasReleased = false

  constructor(
    key: string,
    token: bigint,
    lease: LeaseClock,
    clock: Clock,
    lane: ReleaseLane,
    grantedOn: Session | undefined,
  ) {
    this.key = key
    this.token = token
    this.#lease = lease
    this.#clock = clock
    this.#lane = lane
    this.#grantedOn = grantedOn
  }

  /** Most tickets are released before anybody asks for the signal, so it and its timer are made then. */
  get signal(): AbortSignal {
    if (this.#over === undefined) {
      this.#over = new AbortController()
      if (!this.#wasReleased) this.#watch()
    }
    return this.#over.signal
  }

  remaining(): number {
    return this.#release === undefined ? this.#lease.remainingSeconds() : 0
  }

  release(): Promise<ReleaseResult> {
    if (this.#release === undefined || this.#releaseFailed) {
      this.#releaseFailed = false
      this.#release = this.#lane.release(this.key, this.token, this.#grantedOn)
      this.#release.then(
        () => {
          this.#wasReleased = true
          this.#check?.cancel()
        },
        // Also marks the failure as seen: a release that nobody awaits must not end the process.
        () => {
          this.#releaseFailed = true
        },
      )
    }
    return this.#release
  }

  /** After a release that failed it does not try once more: the caller knows already, and 5 s are the bound (C12). */
  async [Symbol.asyncDispose](): Promise<void> {
    await (this.#release ?? this.release()).catch(() => {})
  }

  /** The wall clock may have jumped forward, so one long timer would not do (C9). */
  #watch(): void {
    const remaining = this.#lease.remainingSeconds()
    if (remaining === 0) {
      this.#over?.abort(leaseOver(this.key, this.token))
      return
    }
    const milliseconds = Math.ceil(Math.min(remaining, leaseCheckSeconds) * 1000)
    this.#check = this.#clock.setBackgroundTimer(milliseconds, () => this.#watch())
  }
}

/** The reason of a ticket's signal (C9). */
export function leaseOver(key: string, token: bigint): TicketError {
  const text = `The lease of ${JSON.stringify(key)} (token ${token}) is over by this client's conservative count. Another holder may have the key: stop the work. Only the fence tells whether it was committed.`
  return new TicketError('TICKET_LEASE_OVER', 'unknown', text)
}
