import type { LockTableLimits } from '../src/internal.js'

interface NaiveWaiter {
  readonly session: string
  readonly owner: string
  readonly leaseSeconds: number
  readonly end: number
}

interface NaiveKey {
  token: bigint | undefined
  leaseSeconds: number
  /** Undefined until the grant is handed out. */
  deadline: number | undefined
  waiters: NaiveWaiter[]
}

/**
 * The rules S1–S4, S6–S9 and S12 once more, as plainly as they can be put: it looks at everything each time. Its replies
 * have no tokens; {@link learnToken} tells it which one a grant got.
 */
export class NaiveModel {
  readonly keys = new Map<string, NaiveKey>()
  readonly #limits: LockTableLimits
  readonly #lazyExpiry: boolean

  constructor(limits: LockTableLimits, lazyExpiry: boolean) {
    this.#limits = limits
    this.#lazyExpiry = lazyExpiry
  }

  acquire(session: string, owner: string, key: string, wait: number, leaseSeconds: number, now: number): string[] {
    const replies = this.endWaits(now)
    const state = this.keys.get(key)
    if (state === undefined) {
      if (this.keys.size === this.#limits.keysMax) return [...replies, `${session}: B ${owner} ${key}`]
      this.keys.set(key, { token: undefined, leaseSeconds, deadline: undefined, waiters: [] })
      return [...replies, `${session}: A ${owner} ${key}`]
    }
    if (this.#lazyExpiry && state.deadline !== undefined && now >= state.deadline) {
      Object.assign(state, { token: undefined, leaseSeconds, deadline: undefined })
      return [...replies, `${session}: A ${owner} ${key}`]
    }
    if (wait === 0) return [...replies, `${session}: T ${owner} ${key}`]
    const waiters = [...this.keys.values()].flatMap((one) => one.waiters)
    const full =
      state.waiters.length === this.#limits.waitersPerKeyMax ||
      waiters.length === this.#limits.waitersMax ||
      waiters.filter((waiter) => waiter.session === session).length === this.#limits.outstandingPerSessionMax
    if (full) return [...replies, `${session}: B ${owner} ${key}`]
    state.waiters.push({ session, owner, leaseSeconds, end: now + wait * 1000 })
    return replies
  }

  release(session: string, key: string, token: bigint, now: number): string[] {
    const replies = this.endWaits(now)
    if (this.keys.get(key)?.token !== token) return [...replies, `${session}: N ${token} ${key}`]
    return [...replies, `${session}: R ${token} ${key}`, ...this.#passOn(key)]
  }

  handedOut(key: string, token: bigint, now: number): void {
    const state = this.keys.get(key)
    if (state?.token === token && state.deadline === undefined)
      state.deadline = Math.ceil(now + state.leaseSeconds * 1000)
  }

  takeBack(key: string, token: bigint, now: number): string[] {
    const replies = this.endWaits(now)
    const state = this.keys.get(key)
    if (state?.token !== token || state.deadline !== undefined) return replies
    return [...replies, ...this.#passOn(key)]
  }

  sessionEnded(session: string): void {
    for (const state of this.keys.values()) {
      state.waiters = state.waiters.filter((waiter) => waiter.session !== session)
    }
  }

  endWaits(now: number): string[] {
    const replies: string[] = []
    for (const [key, state] of this.keys) {
      for (const { session, owner, end } of state.waiters) if (now >= end) replies.push(`${session}: T ${owner} ${key}`)
      state.waiters = state.waiters.filter(({ end }) => now < end)
    }
    return replies
  }

  expire(now: number): string[] {
    const replies = this.endWaits(now)
    for (const [key, { deadline, waiters }] of [...this.keys]) {
      if (deadline === undefined || now < deadline || (this.#lazyExpiry && waiters.length === 0)) continue
      replies.push(...this.#passOn(key))
    }
    return replies
  }

  /** The keys that are cleared. */
  sweep(now: number): string[] {
    const swept = [...this.keys].filter(
      ([, { deadline, waiters }]) =>
        this.#lazyExpiry && deadline !== undefined && now >= deadline && waiters.length === 0,
    )
    for (const [key] of swept) this.keys.delete(key)
    return swept.map(([key]) => key)
  }

  learnToken(key: string, token: bigint): void {
    const state = this.keys.get(key)
    if (state !== undefined && state.token === undefined) state.token = token
  }

  get waiterCount(): number {
    return [...this.keys.values()].reduce((sum, { waiters }) => sum + waiters.length, 0)
  }

  get nextWaitEnd(): number {
    return Math.min(
      Number.POSITIVE_INFINITY,
      ...[...this.keys.values()].flatMap(({ waiters }) => waiters.map(({ end }) => end)),
    )
  }

  get nextExpiry(): number {
    const followed = [...this.keys.values()].filter(({ waiters }) => !this.#lazyExpiry || waiters.length > 0)
    return Math.min(Number.POSITIVE_INFINITY, ...followed.map(({ deadline }) => deadline ?? Number.POSITIVE_INFINITY))
  }

  #passOn(key: string): string[] {
    const state = this.keys.get(key) as NaiveKey
    const next = state.waiters.shift()
    if (next === undefined) {
      this.keys.delete(key)
      return []
    }
    Object.assign(state, { token: undefined, leaseSeconds: next.leaseSeconds, deadline: undefined })
    return [`${next.session}: A ${next.owner} ${key}`]
  }
}
