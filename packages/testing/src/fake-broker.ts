import { type AcquireOptions, type Broker, type Ticket, TicketError, type TicketErrorCode } from '@ticketing/client'
import {
  type AcquireSettings,
  brokerClosed,
  cancelled,
  checkAcquire,
  checkOptionNames,
  connectSecondsDefault,
  invalidArgument,
  named,
  neverConnected,
  notInTime,
  refusedAsBusy,
  shown,
} from '@ticketing/client/internal'
import { tokenMax, tokenMin } from '@ticketing/protocol'
import { sendAcquire } from './fake-broker-acquire.js'
import { FakeClock, type ManualClock } from './fake-broker-clock.js'
import type { FakeBrokerEvent } from './fake-broker-log.js'
import { FakeNetwork, type RequestKind } from './fake-broker-network.js'
import type { FakeSurroundings } from './fake-broker-surroundings.js'
import { FakeTable } from './fake-broker-table.js'
import { seedByClock } from './fake-broker-tokens.js'

export interface FakeBrokerOptions {
  /**
   * The token of the first grant. By default one by the wall clock, above those of every fake before it, so that a
   * database which outlives a test takes the tokens of the next.
   */
  readonly firstToken?: bigint | undefined
}

/** The codes that {@link FakeBroker.refuseNext} takes. */
export type Refusal = Extract<
  TicketErrorCode,
  'TICKET_BUSY' | 'TICKET_TIMEOUT' | 'TICKET_NOT_CONNECTED' | 'TICKET_AUTH_FAILED'
>

/** Who holds a key. */
export interface FakeHolder {
  readonly token: bigint
  /** Seconds until its lease ends. */
  readonly remaining: number
}

/**
 * A lock service in this process, for unit tests. It excludes, queues, counts leases and checks its arguments as
 * `TicketBroker` with a server does; its errors are the same. Its time stands still until {@link clock} is advanced.
 */
export class FakeBroker implements Broker {
  readonly clock: ManualClock
  /** What happened, in order. */
  readonly log: readonly FakeBrokerEvent[]
  readonly #around: FakeSurroundings
  readonly #refusals: Refusal[] = []

  /** @param lastToken - the token before the first that is granted. */
  constructor(lastToken: bigint) {
    const clock = new FakeClock()
    const log: FakeBrokerEvent[] = []
    const write = (event: Omit<FakeBrokerEvent, 'at'>) => {
      log.push({ ...event, at: clock.now })
    }
    this.clock = clock
    this.log = log
    const table = new FakeTable(clock, write, lastToken)
    this.#around = {
      clock,
      table,
      write,
      network: new FakeNetwork(),
      tickets: new Map(),
      lifecycle: { pending: new Set() },
    }
  }

  /** As `TicketBroker.acquire`; it never repeats a request either. */
  async acquire(key: string, options: AcquireOptions): Promise<Ticket> {
    if (this.#around.lifecycle.pending === undefined) throw brokerClosed('acquire')
    const settings = checkAcquire(key, options)
    if (settings.signal?.aborted) throw cancelled(settings, false)
    const refusal = this.#refusals.shift()
    if (refusal === undefined) return await sendAcquire(settings, this.#around)
    this.#around.write({ event: 'refused', key, code: refusal })
    throw refusalError(refusal, settings)
  }

  /**
   * As `TicketBroker.close`: what is pending ends with `TICKET_CLOSED`, and so does every later acquire and release. So
   * the fake fits wherever an application closes its broker.
   */
  async close(): Promise<void> {
    const { lifecycle } = this.#around
    const { pending } = lifecycle
    lifecycle.pending = undefined
    for (const end of pending ?? []) end()
  }

  /** Who holds the key now, if anybody does. */
  holder(key: string): FakeHolder | undefined {
    const holding = this.#around.table.holding(key)
    if (holding === undefined) return undefined
    const remaining = (holding.leaseEndsAtMilliseconds - this.#around.clock.milliseconds) / 1000
    return { token: holding.token, remaining }
  }

  /** How many acquires queue for the key. */
  waiters(key: string): number {
    return this.#around.table.waiters(key)
  }

  /**
   * Holds back the answers for this key, or for all keys. Requests still take effect. Who waits longer than the real
   * client would, on the broker's clock, gives up: an acquire after its wait and 5 s with `TICKET_INDETERMINATE` (C16), a
   * release after 5 s with `TICKET_RELEASE_UNCONFIRMED` (C11).
   */
  stall(key?: string): void {
    this.#around.network.stall(key)
  }

  /** Ends the stall of this key, or every stall. What was held back arrives, in order. */
  resume(key?: string): void {
    this.#around.network.resume(key)
  }

  /** Refuses the next acquire at once, with this code. Called twice, the next two. */
  refuseNext(code: Refusal): void {
    if (!Object.hasOwn(refusals, code)) {
      throw invalidArgument(`refuseNext takes ${Object.keys(refusals).join(', ')}, got ${shown(code)}.`)
    }
    this.#refusals.push(code)
  }

  /**
   * Loses the next answer, or the next to an acquire or to a release; its request took effect. An acquire ends with
   * `TICKET_INDETERMINATE`, and the key may stay held until the lease ends (C3); a release with
   * `TICKET_RELEASE_UNCONFIRMED`, though the key is free (C11).
   */
  loseNextAnswer(to?: RequestKind): void {
    this.#around.network.loseNext('answer', to)
  }

  /** Loses the next request before it takes effect. The caller gets the same errors as for a lost answer. */
  loseNextRequest(of?: RequestKind): void {
    this.#around.network.loseNext('request', of)
  }

  /**
   * Stops the process of the key's holder, as far as its ticket shows it: `remaining()` and `signal` stand still, while
   * the lease goes on. So a test can bring a holder past its own checks with a lease that is over, where only the fence
   * can refuse it.
   *
   * @returns wakes it: its ticket sees the time again.
   * @throws {TicketError} `TICKET_INVALID_ARGUMENT` where no holder has the key's ticket in hand.
   */
  suspendHolder(key: string): () => void {
    const { table, tickets } = this.#around
    const ticket = tickets.get(table.holding(key)?.token ?? 0n)
    if (ticket === undefined) throw invalidArgument(`suspendHolder: nobody holds a ticket for ${named(key)} now.`)
    ticket.suspend()
    return () => ticket.wake()
  }
}

/**
 * Makes a lock service in this process, for unit tests.
 *
 * @throws {TicketError} `TICKET_INVALID_ARGUMENT`.
 */
export function fakeBroker(options: FakeBrokerOptions = {}): FakeBroker {
  checkOptionNames('fakeBroker', options, ['firstToken'])
  const { firstToken } = options
  if (firstToken === undefined) return new FakeBroker(seedByClock())
  if (typeof firstToken !== 'bigint' || firstToken < tokenMin || firstToken > tokenMax) {
    throw invalidArgument(`firstToken must be a bigint from ${tokenMin} to ${tokenMax}, got ${shown(firstToken)}.`)
  }
  return new FakeBroker(firstToken - 1n)
}

const refusals: Readonly<Record<Refusal, (settings: AcquireSettings) => TicketError>> = {
  TICKET_BUSY: refusedAsBusy,
  TICKET_TIMEOUT: notInTime,
  TICKET_NOT_CONNECTED: (settings) => neverConnected(settings, connectSecondsDefault, undefined),
  TICKET_AUTH_FAILED: (settings) => {
    const text = 'The fake broker was told to accept no client token.'
    const error = new TicketError('TICKET_AUTH_FAILED', 'not-executed', text)
    return neverConnected(settings, connectSecondsDefault, { kind: 'refused', error })
  },
}

function refusalError(code: Refusal, settings: AcquireSettings): TicketError {
  return refusals[code](settings)
}
