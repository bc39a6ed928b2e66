import type { ReleaseResult, Ticket, TicketError } from '@ticketing/client'
import { brokerClosed, leaseOver, named, releaseSecondsMax, releaseUnconfirmed } from '@ticketing/client/internal'
import { type CancelTimer, turns } from './fake-broker-clock.js'
import type { FakeSurroundings } from './fake-broker-surroundings.js'
import type { Holding } from './fake-broker-table.js'

/** The ticket that a fake broker hands out. Its lease is counted from the grant, on the broker's clock (C9). */
export class FakeTicket implements Ticket {
  readonly key: string
  readonly token: bigint
  readonly #leaseEndsAt: number
  readonly #around: FakeSurroundings
  readonly #over = new AbortController()
  readonly #cancelEnd: CancelTimer
  #release: Promise<ReleaseResult> | undefined
  #releaseFailed = false
  #wasReleased = false
  /** The moment at which its process stands still, in milliseconds. */
  #suspendedAt: number | undefined

  constructor(key: string, holding: Holding, around: FakeSurroundings) {
    this.key = key
    this.token = holding.token
    this.#leaseEndsAt = holding.leaseEndsAtMilliseconds
    this.#around = around
    this.#cancelEnd = around.clock.after(this.remaining(), turns.clientNotices, () => this.#checkEnd())
    around.tickets.set(this.token, this)
  }

  get signal(): AbortSignal {
    return this.#over.signal
  }

  remaining(): number {
    if (this.#release !== undefined) return 0
    return Math.max(0, this.#leaseEndsAt - (this.#suspendedAt ?? this.#around.clock.milliseconds)) / 1000
  }

  release(): Promise<ReleaseResult> {
    if (this.#release === undefined && this.#around.lifecycle.pending === undefined) {
      return Promise.reject(brokerClosed(`release of ${named(this.key)}`))
    }
    if (this.#release === undefined || this.#releaseFailed) {
      this.#releaseFailed = false
      this.#release = new Promise((resolve, reject) => this.#sendRelease(resolve, reject))
      // Also marks the failure as seen: a release that nobody awaits must not end the process.
      this.#release.catch(() => {})
    }
    return this.#release
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (this.#release ?? this.release()).catch(() => {})
  }

  /** The process that has it stands still: it does not see the time pass. */
  suspend(): void {
    this.#suspendedAt ??= this.#around.clock.milliseconds
  }

  wake(): void {
    this.#suspendedAt = undefined
    this.#checkEnd()
  }

  #checkEnd(): void {
    if (this.#suspendedAt !== undefined || this.#wasReleased) return
    if (this.#leaseEndsAt <= this.#around.clock.milliseconds) this.#over.abort(leaseOver(this.key, this.token))
  }

  /** C11. A loss counts as final at once, as if the 5 s had passed. */
  #sendRelease(resolve: (result: ReleaseResult) => void, reject: (error: TicketError) => void): void {
    const { clock, network, table, write } = this.#around
    let isOpen = true
    const unconfirmed = () => {
      if (!isOpen) return
      isOpen = false
      this.#releaseFailed = true
      write({ event: 'lost', key: this.key, token: this.token, code: 'TICKET_RELEASE_UNCONFIRMED' })
      reject(releaseUnconfirmed(this.key, this.token, true))
    }
    if (network.loses('request', 'release')) {
      unconfirmed()
      return
    }
    const result = table.release(this.key, this.token)
    if (network.loses('answer', 'release')) {
      unconfirmed()
      return
    }
    const cancelGiveUp = clock.after(releaseSecondsMax, turns.clientNotices, unconfirmed)
    network.answer(this.key, () => {
      if (!isOpen) return // A late reply is dropped (C8).
      isOpen = false
      cancelGiveUp()
      this.#wasReleased = true
      this.#cancelEnd()
      this.#around.tickets.delete(this.token)
      resolve(result)
    })
  }
}
