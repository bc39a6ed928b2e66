import { Connection, type Destination } from './connection.js'
import type { Timer } from './environment.js'
import { ReconnectDelay } from './reconnect.js'
import type { Session } from './session.js'
import type { SessionEnd } from './session-end.js'

/** What a link tells. */
export interface LinkListener {
  /** The link has a leading session now, or has none any more. */
  changed(): void
  /** A session ended, or could not be opened. A link that is not closed connects again by itself. */
  ended(end: SessionEnd): void
  strayGrant(key: string, token: bigint): void
}

/** Keeps one session with one server: connects at once, and again after each loss, until it is closed (C15). */
export class SessionLink {
  readonly #destination: Destination
  readonly #listener: LinkListener
  readonly #delay: ReconnectDelay
  #connection: Connection | undefined
  #reconnect: Timer | undefined
  /** When the session became ready, in monotonic milliseconds. */
  #readyAt: number | undefined
  #isClosed = false

  constructor(destination: Destination, listener: LinkListener) {
    this.#destination = destination
    this.#listener = listener
    this.#delay = new ReconnectDelay(destination.environment.random)
    this.#connect()
  }

  /** The session, while acquires and releases may go there. */
  get leading(): Session | undefined {
    const session = this.#connection?.session
    return session?.leads ? session : undefined
  }

  /** Whether a session is being opened, or open. */
  get isConnecting(): boolean {
    return this.#connection !== undefined
  }

  /** Does not connect again, and closes the session at once. */
  close(): void {
    this.#isClosed = true
    this.#reconnect?.cancel()
    this.#connection?.close()
  }

  /** Does not connect again. The session sends nothing more but is read for a bounded time (C10). */
  retire(): void {
    this.#isClosed = true
    this.#reconnect?.cancel()
    this.#connection?.session.retire()
  }

  #connect(): void {
    this.#connection = new Connection(this.#destination, {
      roleChanged: () => {
        this.#readyAt ??= this.#now()
        this.#listener.changed()
      },
      strayGrant: (key, token) => this.#listener.strayGrant(key, token),
      ended: (end) => this.#ended(end),
    })
  }

  #ended(end: SessionEnd): void {
    const readyMilliseconds = this.#readyAt === undefined ? 0 : this.#now() - this.#readyAt
    this.#connection = undefined
    this.#readyAt = undefined
    if (!this.#isClosed) {
      const delay = this.#delay.next(readyMilliseconds)
      this.#reconnect = this.#destination.environment.clock.setTimer(delay, () => this.#connect())
    }
    this.#listener.ended(end)
  }

  #now(): number {
    return this.#destination.environment.clock.now().monotonic
  }
}
