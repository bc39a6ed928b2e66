import type { ReleaseResult } from '@ticketing/client'
import { type CancelTimer, type FakeClock, turns } from './fake-broker-clock.js'
import type { WriteEvent } from './fake-broker-log.js'

/** A grant as the lock service knows it. */
export interface Holding {
  readonly token: bigint
  readonly grantedAtMilliseconds: number
  readonly leaseEndsAtMilliseconds: number
}

/** An acquire as the lock service sees it. */
export interface LockRequest {
  readonly key: string
  readonly waitSeconds: number
  readonly leaseSeconds: number
  granted(holding: Holding): void
  notInTime(): void
}

interface Waiter {
  readonly request: LockRequest
  readonly cancelWait: CancelTimer
}

interface LockedKey {
  holding: Holding
  cancelExpiry: CancelTimer
  readonly queue: Waiter[]
}

/** Who holds which key and who waits for it, as the server decides it (S1–S4, S12). A key that nobody holds has no entry. */
export class FakeTable {
  readonly #clock: FakeClock
  readonly #write: WriteEvent
  readonly #keys = new Map<string, LockedKey>()
  #lastToken: bigint

  /** @param lastToken - the token before the first that is granted. */
  constructor(clock: FakeClock, write: WriteEvent, lastToken: bigint) {
    this.#clock = clock
    this.#write = write
    this.#lastToken = lastToken
  }

  holding(key: string): Holding | undefined {
    return this.#keys.get(key)?.holding
  }

  waiters(key: string): number {
    return this.#keys.get(key)?.queue.length ?? 0
  }

  /** S1 */
  acquire(request: LockRequest): void {
    const { key } = request
    const locked = this.#keys.get(key)
    if (locked === undefined) {
      this.#hold(key, [], request)
    } else if (locked.holding.leaseEndsAtMilliseconds <= this.#clock.milliseconds) {
      this.#expire(key, locked)
      this.#hold(key, locked.queue, request) // S3: past whoever waits
    } else if (request.waitSeconds === 0) {
      request.notInTime()
    } else {
      this.#write({ event: 'queued', key })
      locked.queue.push({ request, cancelWait: this.#waitEnds(locked, request) })
    }
  }

  /** S2 */
  release(key: string, token: bigint): ReleaseResult {
    const locked = this.#keys.get(key)
    if (locked?.holding.token !== token) {
      this.#write({ event: 'not-current', key, token })
      return 'not-current'
    }
    this.#write({ event: 'released', key, token })
    locked.cancelExpiry()
    this.#passOn(key, locked)
    return 'released'
  }

  /** Its client is gone (S8). */
  leaveQueue(request: LockRequest): void {
    const locked = this.#keys.get(request.key)
    if (locked !== undefined) this.#dequeue(locked, request)
  }

  #waitEnds(locked: LockedKey, request: LockRequest): CancelTimer {
    return this.#clock.after(request.waitSeconds, turns.waitEnds, () => {
      this.#dequeue(locked, request)
      request.notInTime()
    })
  }

  #dequeue({ queue }: LockedKey, request: LockRequest): void {
    const index = queue.findIndex((waiter) => waiter.request === request)
    if (index < 0) return
    const [waiter] = queue.splice(index, 1)
    waiter?.cancelWait()
  }

  /** The waiter at the head follows, or the key is free. */
  #passOn(key: string, { queue }: LockedKey): void {
    const next = queue.shift()
    if (next === undefined) {
      this.#keys.delete(key)
    } else {
      next.cancelWait()
      this.#hold(key, queue, next.request)
    }
  }

  #hold(key: string, queue: Waiter[], request: LockRequest): void {
    const now = this.#clock.milliseconds
    this.#lastToken += 1n
    const holding = {
      token: this.#lastToken,
      grantedAtMilliseconds: now,
      leaseEndsAtMilliseconds: now + request.leaseSeconds * 1000,
    }
    const cancelExpiry = this.#clock.after(request.leaseSeconds, turns.leaseEnds, () => {
      this.#expire(key, locked)
      this.#passOn(key, locked)
    })
    const locked: LockedKey = { holding, cancelExpiry, queue }
    this.#keys.set(key, locked)
    this.#write({ event: 'granted', key, token: holding.token })
    request.granted(holding)
  }

  #expire(key: string, { holding, cancelExpiry }: LockedKey): void {
    cancelExpiry()
    this.#write({ event: 'expired', key, token: holding.token })
  }
}
