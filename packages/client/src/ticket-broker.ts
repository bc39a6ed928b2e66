import { AcquireAttempt, type AttemptSurroundings } from './acquire-attempt.js'
import { brokerClosed, cancelled } from './acquire-errors.js'
import { checkAcquire, parseDuration } from './acquire-options.js'
import type { AcquireOptions, AcquireResult, Broker, Duration, Ticket } from './broker.js'
import { type BrokerOptions, type BrokerSettings, checkBroker } from './broker-options.js'
import type { Environment } from './environment.js'
import { closeSecondsMax, connectSecondsMax } from './limits.js'
import { nodeEnvironment } from './node-environment.js'
import { OwnerSequence } from './owner-sequence.js'
import { Readiness } from './readiness.js'
import { ReleaseLane } from './release-lane.js'
import { SharedSessions } from './shared-sessions.js'
import { SignalSessions } from './signal-sessions.js'
import { TicketError, type TicketErrorCode } from './ticket-errors.js'

type FailedStatus = Exclude<AcquireResult['status'], 'granted'>

/** The codes that {@link TicketBroker.tryAcquire} turns into values. All others reject. */
const statusOf: Partial<Record<TicketErrorCode, FailedStatus>> = {
  TICKET_TIMEOUT: 'timeout',
  TICKET_BUSY: 'busy',
  TICKET_INDETERMINATE: 'indeterminate',
  TICKET_NOT_CONNECTED: 'not-connected',
  TICKET_AUTH_FAILED: 'not-connected',
  TICKET_CANCELLED: 'cancelled',
  TICKET_LEASE_TOO_SHORT: 'lease-too-short',
}

/** Set by the class, whose constructor nobody else may call. */
let makeBroker: (settings: BrokerSettings, environment: Environment) => TicketBroker

/**
 * As {@link TicketBroker.connect}, in surroundings of the caller's: for tests and simulations.
 *
 * @throws {TicketError} `TICKET_INVALID_ARGUMENT`.
 */
export function connectIn(environment: Environment, addresses: unknown, options?: unknown): TicketBroker {
  return makeBroker(checkBroker(addresses, options), environment)
}

/**
 * Acquires keys from a Ticketing server. Make one per process and share it: it reconnects by itself, and losing a
 * connection never breaks it (C15). An open broker keeps the process alive, as an open connection does, until
 * {@link close}.
 */
export class TicketBroker implements Broker {
  readonly #settings: BrokerSettings
  readonly #owners: OwnerSequence
  readonly #shared: SharedSessions
  readonly #bySignal: SignalSessions
  readonly #lane: ReleaseLane
  readonly #readiness: Readiness
  /** The acquires without an outcome. */
  readonly #attempts = new Set<AcquireAttempt>()
  readonly #surroundings: AttemptSurroundings
  #closing: Promise<void> | undefined

  private constructor(settings: BrokerSettings, environment: Environment) {
    const { clock } = environment
    const { secret, connectSeconds } = settings
    this.#settings = settings
    this.#owners = new OwnerSequence(environment.randomBytes)
    this.#lane = new ReleaseLane(clock, () => this.#shared.leading)
    const listener = {
      leadingChanged: () => this.#leadingChanged(),
      strayGrant: (key: string, token: bigint) => this.#lane.giveBack(key, token),
    }
    this.#shared = new SharedSessions({ ...settings, environment }, listener)
    this.#bySignal = new SignalSessions({ secret, environment }, this.#shared, listener)
    this.#readiness = new Readiness(clock, this.#shared)
    this.#surroundings = {
      clock,
      connectSeconds,
      lane: this.#lane,
      settled: (attempt) => this.#attempts.delete(attempt),
    }
  }

  /**
   * Makes a broker and returns at once; it connects in the background. An unreachable server is no error here: see
   * {@link waitReady} (C15).
   *
   * @param addresses - `host:port` of the server, or of each server of a cluster.
   * @throws {TicketError} `TICKET_INVALID_ARGUMENT`.
   */
  static connect(addresses: string | readonly string[], options?: BrokerOptions): TicketBroker {
    return connectIn(nodeEnvironment, addresses, options)
  }

  static {
    makeBroker = (settings, environment) => new TicketBroker(settings, environment)
  }

  /**
   * Resolves once a session with a server that leads is ready.
   *
   * @param seconds - how long to wait for it, 0–3600 s; by default the broker's `connectSeconds`.
   * @throws {TicketError} `TICKET_NOT_CONNECTED` or `TICKET_AUTH_FAILED` when the time is over (the broker goes on
   * trying), `TICKET_CLOSED`, `TICKET_INVALID_ARGUMENT`.
   */
  async waitReady(seconds: Duration = this.#settings.connectSeconds): Promise<void> {
    const limit = parseDuration('seconds', seconds, { min: 0, max: connectSecondsMax })
    if (this.#closing !== undefined) throw brokerClosed('waitReady')
    await this.#readiness.wait(limit)
  }

  /**
   * Queues for a key and resolves once it is held, with at least `minWork` of its lease left. It is sent at most once.
   *
   * @throws {TicketError} with `outcome` `'not-executed'`: `TICKET_TIMEOUT` (C4), `TICKET_BUSY` (C5),
   * `TICKET_NOT_CONNECTED` and `TICKET_AUTH_FAILED` (C15), `TICKET_LEASE_TOO_SHORT` (C9: the grant is given back, the
   * work never started), `TICKET_INVALID_ARGUMENT` (C13). With `'unknown'`, since a grant may exist until its lease ends:
   * `TICKET_INDETERMINATE` (C3). With one or the other, as it was sent or not: `TICKET_CANCELLED` (C10; the cause is the
   * signal's reason), `TICKET_CLOSED`.
   */
  acquire(key: string, options: AcquireOptions): Promise<Ticket> {
    try {
      const settings = checkAcquire(key, options)
      if (this.#closing !== undefined) throw brokerClosed('acquire')
      if (settings.signal?.aborted) throw cancelled(settings, false)
      const route = settings.signal === undefined ? this.#shared : this.#bySignal
      const attempt = new AcquireAttempt(this.#owners.next(), settings, route, this.#surroundings)
      this.#attempts.add(attempt)
      route.place(attempt)
      return attempt.promise
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * As {@link acquire}, with the outcome as a value. `not-connected` includes a failed authentication; the error's code
   * tells them apart.
   *
   * @throws {TicketError} `TICKET_INVALID_ARGUMENT` and `TICKET_CLOSED` always reject.
   */
  async tryAcquire(key: string, options: AcquireOptions): Promise<AcquireResult> {
    try {
      return { status: 'granted', ticket: await this.acquire(key, options) }
    } catch (error) {
      const status = error instanceof TicketError ? statusOf[error.code] : undefined
      if (status === undefined) throw error
      return { status, error: error as TicketError }
    }
  }

  /**
   * Closes the broker for good; called again, it waits for the same end and never rejects. Pending acquires end with
   * `TICKET_CLOSED`. Pending releases are waited for, at most 5 s; what is unconfirmed then ends so. Afterwards nothing of
   * the broker keeps the process alive. Tickets that are held stay held until their lease ends: release them before.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    for (const attempt of this.#attempts) attempt.brokerCloses()
    this.#readiness.brokerCloses()
    await this.#lane.drain(closeSecondsMax)
    this.#bySignal.close()
    this.#shared.close()
  }

  #leadingChanged(): void {
    this.#bySignal.openWaiting()
    this.#lane.sendWaiting()
    this.#readiness.check()
  }
}
