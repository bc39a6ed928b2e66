import type { AcquireFrame, LeaderFrame, ReleaseFrame } from '@ticketing/protocol'
import type { Clock, Timer } from './clock.js'
import type { Effect } from './lock-table/effects.js'
import { LockTable, type LockTableLimits } from './lock-table/lock-table.js'
import type { ReplySink, ServingMode } from './serving-mode.js'

/** How often expired keys that nobody waits for are cleared (S7). */
const sweepSeconds = 5

/** Work of one turn, so that a great many leases that end together do not hold up what arrives meanwhile. */
const sweptPerTurnMax = 2000
const expiredPerTurnMax = 500

const leads: LeaderFrame = { type: 'leader', leads: true, address: undefined }

/** One server, in memory: the lock table with a clock and timers around it. Replies leave at once. */
export class SingleMode implements ServingMode {
  readonly #clock: Clock
  readonly #table: LockTable<ReplySink>
  readonly #sweepTimer: Timer
  /** The one timer for waits and expiries, and the moment it is set for. It may be early, never late. */
  #dueTimer: Timer | undefined
  #dueTimerAt = Number.POSITIVE_INFINITY
  #expiryIsQueued = false
  #closed = false

  /** @param firstToken The first token to issue; see `tokenSeed` (S10). */
  constructor(clock: Clock, limits: LockTableLimits, firstToken: bigint) {
    this.#clock = clock
    this.#table = new LockTable({ limits, firstToken, lazyExpiry: true })
    this.#sweepTimer = clock.setTimer(sweepSeconds * 1000, this.#sweep)
  }

  /** Always `+`. An address is not needed: whoever reads this is connected to the only server there is. */
  role(): LeaderFrame {
    return leads
  }

  acquire(session: ReplySink, frame: AcquireFrame): void {
    this.#carryOut(this.#table.acquire(session, frame, this.#clock.now()))
  }

  release(session: ReplySink, frame: ReleaseFrame): void {
    this.#carryOut(this.#table.release(session, frame, this.#clock.now()))
  }

  sessionEnded(session: ReplySink): void {
    this.#table.sessionEnded(session)
  }

  close(): void {
    this.#closed = true
    this.#clock.clearTimer(this.#sweepTimer)
    if (this.#dueTimer !== undefined) this.#clock.clearTimer(this.#dueTimer)
  }

  #carryOut(effects: Effect<ReplySink>[]): void {
    for (const effect of effects) {
      if (effect.type === 'change') continue // Nothing is stored.
      const { session, frame } = effect
      const delivered = session.send(frame)
      if (frame.type !== 'granted') continue
      // The clock is read anew, behind every pong that this session was sent (S9).
      const now = this.#clock.now()
      if (delivered) this.#table.handedOut(frame.key, frame.token, now)
      else effects.push(...this.#table.takeBack(frame.key, frame.token, now)) // This loop reaches them too.
    }
    this.#setDueTimer()
  }

  #setDueTimer(): void {
    // An expiry that is queued sets the timer itself, when it is done.
    const expiryAt = this.#expiryIsQueued ? Number.POSITIVE_INFINITY : this.#table.nextExpiry
    const dueAt = Math.min(this.#table.nextWaitEnd, expiryAt)
    // A timer that is already set for an earlier moment will come here again: most waits end before their time.
    if (dueAt >= this.#dueTimerAt || this.#closed) return
    if (this.#dueTimer !== undefined) this.#clock.clearTimer(this.#dueTimer)
    this.#dueTimerAt = dueAt
    this.#dueTimer = this.#clock.setTimer(Math.max(1, Math.ceil(dueAt - this.#clock.now())), this.#due)
  }

  readonly #due = (): void => {
    this.#dueTimer = undefined
    this.#dueTimerAt = Number.POSITIVE_INFINITY
    const now = this.#clock.now()
    // Node runs timers, then what has arrived on sockets, then immediates: just the order of S2 within an instant.
    if (this.#table.nextExpiry <= now && !this.#expiryIsQueued) {
      this.#expiryIsQueued = true
      setImmediate(this.#expire)
    }
    this.#carryOut(this.#table.endWaits(now))
  }

  readonly #expire = (): void => {
    this.#expiryIsQueued = false
    if (!this.#closed) this.#carryOut(this.#table.expire(this.#clock.now(), expiredPerTurnMax))
  }

  readonly #sweep = (): void => {
    if (this.#closed) return
    const swept = this.#table.sweep(this.#clock.now(), sweptPerTurnMax).length
    if (swept === sweptPerTurnMax) setImmediate(this.#sweep)
    else this.#sweepTimer.refresh()
  }
}
