import { brokerClosed, named } from './acquire-errors.js'
import type { ReleaseResult } from './broker.js'
import { setDeadline } from './deadline.js'
import type { Clock, Timer } from './environment.js'
import { releaseSecondsMax } from './limits.js'
import type { ReleaseRequest } from './pending-requests.js'
import type { Session } from './session.js'
import { TicketError } from './ticket-errors.js'

/**
 * Sends releases, each for at most 5 s from its call (C11). A release names its grant by token, so it may go over any
 * session and be sent again on another when one is lost. `N` to a second copy may mean that the first one did it: it
 * still is "not current".
 */
export class ReleaseLane {
  readonly #clock: Clock
  readonly #leadingSession: () => Session | undefined
  /** In the order of their deadlines. */
  readonly #unsettled = new Set<Release>()
  readonly #unsent = new Set<Release>()
  #timer: Timer | undefined
  #isStopped = false
  #drained: (() => void) | undefined

  /** @param leadingSession - a session that is not isolated for one signal (C10) and leads now, if there is one. */
  constructor(clock: Clock, leadingSession: () => Session | undefined) {
    this.#clock = clock
    this.#leadingSession = leadingSession
  }

  /**
   * Releases exactly this grant.
   *
   * @throws {TicketError} `TICKET_RELEASE_UNCONFIRMED` after 5 s; `TICKET_CLOSED` where the broker was closed before.
   */
  release(key: string, token: bigint, grantedOn?: Session): Promise<ReleaseResult> {
    if (this.#isStopped) return Promise.reject(brokerClosed(`release of ${named(key)}`))
    return new Promise((resolve, reject) => {
      const deadline = this.#clock.now().monotonic + releaseSecondsMax * 1000
      const release: Release = new Release(key, token, deadline, grantedOn, {
        settled: (result) => {
          this.#forget(release)
          if (result instanceof TicketError) reject(result)
          else resolve(result)
        },
        lost: () => this.#send(release),
      })
      this.#unsettled.add(release)
      this.#timer ??= setDeadline(this.#clock, deadline, () => this.#giveUpOverdue())
      this.#send(release)
    })
  }

  /** Releases a grant that nobody will use, as well as that can be done. */
  giveBack(key: string, token: bigint): void {
    this.release(key, token).catch(() => {})
  }

  /** There may be a leading session now: releases that found none go out. */
  sendWaiting(): void {
    for (const release of [...this.#unsent]) this.#send(release)
  }

  /** Waits for what is pending, for at most so long. Then gives up the rest, and every release that is still to come. */
  async drain(seconds: number): Promise<void> {
    if (this.#unsettled.size > 0) {
      await new Promise<void>((resolve) => {
        const timer = setDeadline(this.#clock, this.#clock.now().monotonic + seconds * 1000, () => resolve())
        this.#drained = () => {
          timer.cancel()
          resolve()
        }
      })
    }
    this.#isStopped = true
    this.#timer?.cancel()
    for (const release of this.#unsettled) release.giveUp()
  }

  #send(release: Release): void {
    const session = this.#leadingSession() ?? (release.grantedOn?.leads ? release.grantedOn : undefined)
    if (session === undefined) {
      this.#unsent.add(release)
    } else {
      this.#unsent.delete(release)
      release.sendOn(session)
    }
  }

  #forget(release: Release): void {
    this.#unsettled.delete(release)
    this.#unsent.delete(release)
    if (this.#unsettled.size === 0) this.#drained?.()
  }

  #giveUpOverdue(): void {
    this.#timer = undefined
    const now = this.#clock.now().monotonic
    for (const release of this.#unsettled) {
      if (release.deadline > now) {
        this.#timer = setDeadline(this.#clock, release.deadline, () => this.#giveUpOverdue())
        return
      }
      release.giveUp()
    }
  }
}

interface ReleaseListener {
  settled(result: ReleaseResult | TicketError): void
  lost(): void
}

/**
 * One release on its way. Given up, it stays pending with its session, so that a late reply is no mismatch there (C8),
 * and is dropped here.
 */
class Release implements ReleaseRequest {
  readonly key: string
  readonly token: bigint
  readonly deadline: number
  readonly grantedOn: Session | undefined
  readonly #listener: ReleaseListener
  #wasSent = false
  #isSettled = false

  constructor(key: string, token: bigint, deadline: number, grantedOn: Session | undefined, listener: ReleaseListener) {
    this.key = key
    this.token = token
    this.deadline = deadline
    this.grantedOn = grantedOn
    this.#listener = listener
  }

  sendOn(session: Session): void {
    this.#wasSent = true
    session.release(this)
  }

  answered(result: ReleaseResult): void {
    this.#settle(result)
  }

  lost(): void {
    if (!this.#isSettled) this.#listener.lost()
  }

  giveUp(): void {
    this.#settle(releaseUnconfirmed(this.key, this.token, this.#wasSent))
  }

  #settle(result: ReleaseResult | TicketError): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#listener.settled(result)
  }
}

/** C11 */
export function releaseUnconfirmed(key: string, token: bigint, wasSent: boolean): TicketError {
  const what = `The release of ${named(key)} (token ${token})`
  const rest = 'Call release() again to try once more, or let the lease end.'
  return wasSent
    ? new TicketError(
        'TICKET_RELEASE_UNCONFIRMED',
        'unknown',
        `${what} was sent and got no final answer in time: the key may be free, or held until its lease ends. ${rest}`,
      )
    : new TicketError(
        'TICKET_RELEASE_UNCONFIRMED',
        'not-executed',
        `${what} found no server that leads in time and was never sent: the key is held until its lease ends. ${rest}`,
      )
}
