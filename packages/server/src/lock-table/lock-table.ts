import type { AcquireCommand, ReleaseCommand } from './commands.js'
import { DeadlineHeap } from './deadline-heap.js'
import type { Change, Effect, Reply } from './effects.js'
import { Entry } from './entry.js'
import { TokenSequence } from './token-sequence.js'
import { Waiter } from './wait-queue.js'

/** What the table may hold. A request that would have to take more is answered busy (S6). */
export interface LockTableLimits {
  /** Registered keys: held, or expired and not swept yet. */
  readonly keysMax: number
  /** Waiters over all keys. */
  readonly waitersMax: number
  readonly waitersPerKeyMax: number
  /** Acquires of one session that wait for their reply, over all keys. */
  readonly outstandingPerSessionMax: number
}

export interface LockTableOptions {
  readonly limits: LockTableLimits
  /** The first token to issue; see `tokenSeed` (S10). */
  readonly firstToken: bigint
  /**
   * `true`: an expired key is taken over by the next acquire, and swept if nobody wants it (S7). `false`: a key stays
   * held until {@link LockTable.expire} has ended it, with or without waiters (K5).
   */
  readonly lazyExpiry: boolean
}

/**
 * The lock table: who holds which key, and who waits for it (S1–S10, S12). It does no I/O and knows no clock. Each
 * method is one event at the moment `now`, in monotonic milliseconds that never go back, and answers what follows from
 * it, in order. `S` is whatever the shell tells sessions apart by; the table only compares it.
 *
 * **What a shell owes the table**
 *
 * - It delivers replies in order, and for each `granted` one calls {@link handedOut} when the frame is with the session's
 *   output, or {@link takeBack} if the session had ended before (S8, S9).
 * - It calls {@link endWaits} when {@link nextWaitEnd} is reached, {@link expire} when {@link nextExpiry} is reached, and
 *   {@link sweep} every few seconds. At one instant, waits end first, then arriving frames are handled, then expiries:
 *   so a shell lets frames that have arrived go before `expire`. Every event ends overdue waits by itself first, so a
 *   late timer never turns a `T` into an `A` (S12).
 *
 * **Holding replies back** (S11, S13, K2). A shell in memory delivers at once. One that stores changes first needs
 * nothing more from the table: see {@link Effect} for what it commits and when a reply may leave. A grant that waits for
 * its commit has no deadline yet and cannot expire; its lease starts with `handedOut`.
 */
export class LockTable<S> {
  readonly #limits: LockTableLimits
  readonly #lazyExpiry: boolean
  readonly #tokens: TokenSequence
  readonly #entries = new Map<string, Entry<S>>()
  readonly #waitersOf = new Map<S, Set<Waiter<S>>>()
  /** Every waiter, by the end of its wait. */
  readonly #waits = new DeadlineHeap<Waiter<S>>()
  /** Running leases whose end must be followed at once. */
  readonly #watched = new DeadlineHeap<Entry<S>>()
  /** Running leases whose end matters to nobody until the next acquire or sweep (S7). */
  readonly #unwatched = new DeadlineHeap<Entry<S>>()

  constructor(options: LockTableOptions) {
    this.#limits = options.limits
    this.#lazyExpiry = options.lazyExpiry
    this.#tokens = new TokenSequence(options.firstToken)
  }

  /** Registered keys. */
  get keyCount(): number {
    return this.#entries.size
  }

  get waiterCount(): number {
    return this.#waits.size
  }

  /** When {@link endWaits} has something to do; `Infinity` for never. */
  get nextWaitEnd(): number {
    return this.#waits.firstDueAt
  }

  /** When {@link expire} has something to do; `Infinity` for never. */
  get nextExpiry(): number {
    return this.#watched.firstDueAt
  }

  /** An acquire arrived (S1). */
  acquire(session: S, command: AcquireCommand, now: number): Effect<S>[] {
    const effects = this.endWaits(now)
    const { owner, waitSeconds, leaseSeconds } = command
    const entry = this.#entries.get(command.key)
    if (entry === undefined) {
      if (this.#entries.size >= this.#limits.keysMax) {
        effects.push(busy(session, owner, command.key))
      } else {
        const registered = this.#register(command.key)
        effects.push(this.#hold(registered, leaseSeconds), granted(session, owner, registered))
      }
    } else if (this.#lazyExpiry && entry.dueAt <= now) {
      // In place, even past waiters (S3).
      effects.push(this.#hold(entry, leaseSeconds), granted(session, owner, entry))
    } else if (waitSeconds === 0) {
      effects.push(notInTime(session, owner, entry.key))
    } else if (this.#queueIsFull(session, entry)) {
      effects.push(busy(session, owner, entry.key))
    } else {
      this.#enqueue(entry, new Waiter(session, owner, entry.key, leaseSeconds, now + waitSeconds * 1000))
    }
    return effects
  }

  /** A release arrived (S2). An expired key that was not swept yet is still released (S7). */
  release(session: S, command: ReleaseCommand, now: number): Effect<S>[] {
    const effects = this.endWaits(now)
    const { key, token } = command
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.token !== token) effects.push(notCurrent(session, token, key))
    else this.#passOn(entry, effects, released(session, token, key))
    return effects
  }

  /**
   * The `A` of this grant is with its session's output: its lease starts (S9). `now` must be read after the last pong
   * written to that session. Nothing happens if the key has passed on meanwhile.
   */
  handedOut(key: string, token: bigint, now: number): void {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.token !== token || entry.leaseRuns) return
    entry.dueAt = Math.ceil(now + entry.leaseSeconds * 1000)
    this.#watchAsNeeded(entry)
  }

  /** The session of this grant ended before its `A` was handed out: the key passes on (S8). A running lease stays. */
  takeBack(key: string, token: bigint, now: number): Effect<S>[] {
    const effects = this.endWaits(now)
    const entry = this.#entries.get(key)
    if (entry !== undefined && entry.token === token && !entry.leaseRuns) this.#passOn(entry, effects)
    return effects
  }

  /** A session ended: its waiters leave every queue, and nothing that was granted is released (S8). */
  sessionEnded(session: S): void {
    for (const waiter of this.#waitersOf.get(session) ?? []) this.#dequeue(this.#entryOf(waiter), waiter)
  }

  /** Answers every waiter whose wait is over at `now` (S12). */
  endWaits(now: number): Effect<S>[] {
    const effects: Effect<S>[] = []
    for (let waiter = this.#waits.first; waiter !== undefined && waiter.dueAt <= now; waiter = this.#waits.first) {
      this.#dequeue(this.#entryOf(waiter), waiter)
      effects.push(notInTime(waiter.session, waiter.owner, waiter.key))
    }
    return effects
  }

  /**
   * Ends leases that are over at `now` and that somebody waits for; the waiter at the head follows (S7). At most
   * `keysMax` of them, so that one turn stays short: {@link nextExpiry} tells whether some are left.
   */
  expire(now: number, keysMax: number): Effect<S>[] {
    const effects = this.endWaits(now)
    for (let ended = 0; ended < keysMax; ended++) {
      const entry = this.#watched.first
      if (entry === undefined || entry.dueAt > now) break
      this.#passOn(entry, effects)
    }
    return effects
  }

  /**
   * Clears keys that have expired at `now` and that nobody waits for (S7), at most `keysMax` of them. Each answers one
   * change, so as many changes as `keysMax` mean that some may be left.
   */
  sweep(now: number, keysMax: number): Change[] {
    const changes: Change[] = []
    while (changes.length < keysMax) {
      const entry = this.#unwatched.first
      if (entry === undefined || entry.dueAt > now) break
      changes.push(this.#unregister(entry))
    }
    return changes
  }

  #queueIsFull(session: S, entry: Entry<S>): boolean {
    return (
      this.#waits.size >= this.#limits.waitersMax ||
      entry.waiterCount >= this.#limits.waitersPerKeyMax ||
      (this.#waitersOf.get(session)?.size ?? 0) >= this.#limits.outstandingPerSessionMax
    )
  }

  /** Hands the key to the waiter at its head, or deletes it; `first` is replied before that waiter. */
  #passOn(entry: Entry<S>, effects: Effect<S>[], first?: Reply<S>): void {
    const waiter = entry.firstWaiter
    if (waiter === undefined) {
      effects.push(this.#unregister(entry))
      if (first !== undefined) effects.push(first)
      return
    }
    effects.push(this.#hold(entry, waiter.leaseSeconds))
    this.#dequeue(entry, waiter)
    if (first !== undefined) effects.push(first)
    effects.push(granted(waiter.session, waiter.owner, entry))
  }

  /** Decides a grant: a new token, and no deadline until it is handed out (S9). */
  #hold(entry: Entry<S>, leaseSeconds: number): Change {
    this.#unwatch(entry)
    entry.dueAt = Number.POSITIVE_INFINITY
    entry.token = this.#tokens.next()
    entry.leaseSeconds = leaseSeconds
    return { type: 'change', key: entry.key, holder: { token: entry.token, leaseSeconds } }
  }

  #register(key: string): Entry<S> {
    const entry = new Entry<S>(key)
    this.#entries.set(key, entry)
    return entry
  }

  #unregister(entry: Entry<S>): Change {
    this.#unwatch(entry)
    this.#entries.delete(entry.key)
    return { type: 'change', key: entry.key, holder: undefined }
  }

  #enqueue(entry: Entry<S>, waiter: Waiter<S>): void {
    entry.queue.append(waiter)
    this.#waits.add(waiter)
    const others = this.#waitersOf.get(waiter.session)
    if (others === undefined) this.#waitersOf.set(waiter.session, new Set([waiter]))
    else others.add(waiter)
    this.#watchAsNeeded(entry)
  }

  #dequeue(entry: Entry<S>, waiter: Waiter<S>): void {
    entry.queue.remove(waiter)
    this.#waits.remove(waiter)
    const others = this.#waitersOf.get(waiter.session) as Set<Waiter<S>>
    others.delete(waiter)
    if (others.size === 0) this.#waitersOf.delete(waiter.session)
    this.#watchAsNeeded(entry)
  }

  /** A key with waiters is always registered. */
  #entryOf(waiter: Waiter<S>): Entry<S> {
    return this.#entries.get(waiter.key) as Entry<S>
  }

  /** Keeps a running lease in the one heap where it belongs, now that its deadline or its queue has changed. */
  #watchAsNeeded(entry: Entry<S>): void {
    if (!entry.leaseRuns) return
    const heap = this.#lazyExpiry && entry.waiterCount === 0 ? this.#unwatched : this.#watched
    if (entry.heap === heap) return
    this.#unwatch(entry)
    heap.add(entry)
    entry.heap = heap
  }

  #unwatch(entry: Entry<S>): void {
    entry.heap?.remove(entry)
    entry.heap = undefined
  }
}

function granted<S>(session: S, owner: string, { key, token }: Entry<S>): Reply<S> {
  return { type: 'reply', session, frame: { type: 'granted', token, owner, key } }
}

function notInTime<S>(session: S, owner: string, key: string): Reply<S> {
  return { type: 'reply', session, frame: { type: 'not-in-time', owner, key } }
}

function busy<S>(session: S, owner: string, key: string): Reply<S> {
  return { type: 'reply', session, frame: { type: 'busy', owner, key } }
}

function released<S>(session: S, token: bigint, key: string): Reply<S> {
  return { type: 'reply', session, frame: { type: 'released', token, key } }
}

function notCurrent<S>(session: S, token: bigint, key: string): Reply<S> {
  return { type: 'reply', session, frame: { type: 'not-current', token, key } }
}
