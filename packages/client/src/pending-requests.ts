import type { ReleaseResult } from './broker.js'
import type { Moment } from './environment.js'
import type { SessionEnd } from './session-end.js'

/** An acquire, as its session sees it. Exactly one of the methods is called, once. */
export interface AcquireRequest {
  /** 16 characters U+0000–U+00FF that no other request has. */
  readonly owner: string
  readonly key: string
  readonly waitSeconds: number
  readonly leaseSeconds: number
  /** `A`. The grant certainly did not happen before `provenAt` (C9). */
  granted(token: bigint, provenAt: Moment): void
  /** `T` */
  notInTime(): void
  /** `B` */
  busy(): void
  /** The session ended first. `maySent` is false only where no byte of the request was handed to the connection (C3). */
  lost(end: SessionEnd, maySent: boolean): void
}

/** A release, as its session sees it. Exactly one of the methods is called, once for each session that it is given to. */
export interface ReleaseRequest {
  readonly key: string
  readonly token: bigint
  /** `R` or `N` */
  answered(result: ReleaseResult): void
  /** The session ended first. */
  lost(): void
}

/** An acquire that waits for its reply. */
export interface PendingAcquire {
  readonly request: AcquireRequest
  readonly sentAt: Moment
  /** Monotonic milliseconds at which the session gives up waiting for the reply (C16). */
  readonly replyBy: number
  /** The count of frames that the session had sent with this one. */
  readonly frameNumber: number
}

/**
 * What one session waits for. A reply finds its request by operation, echoed identifier and key together, never by
 * order (C1).
 */
export class PendingRequests {
  readonly #acquires = new Map<string, PendingAcquire>()
  readonly #releases = new Map<string, ReleaseRequest[]>()

  addAcquire(pending: PendingAcquire): void {
    this.#acquires.set(pending.request.owner, pending)
  }

  acquire(owner: string): PendingAcquire | undefined {
    return this.#acquires.get(owner)
  }

  acquires(): Iterable<PendingAcquire> {
    return this.#acquires.values()
  }

  /** The acquire that a reply is for, which no longer waits then; `undefined` if the reply belongs to none. */
  takeAcquire(owner: string, key: string): PendingAcquire | undefined {
    const pending = this.#acquires.get(owner)
    if (pending === undefined || pending.request.key !== key) return undefined
    this.#acquires.delete(owner)
    return pending
  }

  /** Adds a release. Answers whether it needs a frame: one for the same grant that waits already serves both (C2). */
  addRelease(request: ReleaseRequest): boolean {
    const id = releaseId(request.token, request.key)
    const waiting = this.#releases.get(id)
    if (waiting !== undefined) {
      waiting.push(request)
      return false
    }
    this.#releases.set(id, [request])
    return true
  }

  /** The releases that a reply is for, which no longer wait then; `undefined` if the reply belongs to none. */
  takeReleases(token: bigint, key: string): readonly ReleaseRequest[] | undefined {
    const id = releaseId(token, key)
    const waiting = this.#releases.get(id)
    if (waiting !== undefined) this.#releases.delete(id)
    return waiting
  }

  /** Everything that waits; nothing waits any more then. */
  takeAll(): { readonly acquires: readonly PendingAcquire[]; readonly releases: readonly ReleaseRequest[] } {
    const all = { acquires: [...this.#acquires.values()], releases: [...this.#releases.values()].flat() }
    this.#acquires.clear()
    this.#releases.clear()
    return all
  }
}

/** No key holds a space. */
function releaseId(token: bigint, key: string): string {
  return `${token} ${key}`
}
