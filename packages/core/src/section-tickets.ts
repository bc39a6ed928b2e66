import type { Broker, Ticket } from '@ticketing/client'
import { compareKeys, keyFault } from '@ticketing/protocol'
import { invalidArgument, shown } from './fence-errors.js'
import type { FenceReporter } from './fence-events.js'
import { type AcquiringSettings, sectionKeysMax } from './section-options.js'
import type { MonotonicClock } from './system-clock.js'

/** The tickets of a section as its work sees them. The section itself releases them. */
export interface SectionTicket {
  /** The first key, in byte order. */
  readonly key: string
  /** The token of the first key; pass it on to what lies outside the database. */
  readonly token: bigint
  /** One for each key, in byte order of the keys (F8). */
  readonly keys: readonly string[]
  /** Aborts when the first of the conservative leases ends (C9). */
  readonly signal: AbortSignal
  /** The token granted for one of the section's keys, or undefined for any other. */
  tokenOf(key: string): bigint | undefined
  /** Seconds that certainly remain: the least over the tickets, never negative (F8). */
  remaining(): number
}

/** The tickets of one section, from acquire to release. */
export class SectionTickets implements SectionTicket {
  readonly #tickets: readonly Ticket[]
  readonly signal: AbortSignal

  constructor(tickets: readonly Ticket[]) {
    this.#tickets = tickets
    const [only] = tickets
    this.signal =
      tickets.length === 1 && only !== undefined ? only.signal : AbortSignal.any(tickets.map((ticket) => ticket.signal))
  }

  get keys(): readonly string[] {
    return this.#tickets.map((ticket) => ticket.key)
  }

  get key(): string {
    return this.#first.key
  }

  get token(): bigint {
    return this.#first.token
  }

  get #first(): Ticket {
    return this.#tickets[0] as Ticket
  }

  tokenOf(key: string): bigint | undefined {
    return this.#tickets.find((ticket) => ticket.key === key)?.token
  }

  remaining(): number {
    return Math.min(...this.#tickets.map((ticket) => ticket.remaining()))
  }

  /** What the claim needs: each key with its token, in byte order. */
  claims(): { readonly key: string; readonly token: bigint }[] {
    return this.#tickets.map(({ key, token }) => ({ key, token }))
  }

  /** Starts the release of all tickets and does not wait for an answer; a failure is reported on the side (F10). */
  release(reporter: FenceReporter): void {
    for (const ticket of this.#tickets) {
      const failed = (error: unknown) =>
        reporter.report('release-failed', { key: ticket.key, token: ticket.token, error })
      try {
        ticket.release().catch(failed)
      } catch (error) {
        failed(error)
      }
    }
  }
}

/**
 * Acquires every key in byte order, so that two sections on the same keys cannot wait for each other, within one total
 * wait (F8). What is left of the wait is rounded up to whole seconds, as every wait is. If one key is not obtained, the
 * others are given back and the broker's error is thrown.
 */
export async function acquireTickets(
  broker: Broker,
  settings: AcquiringSettings,
  clock: MonotonicClock,
  reporter: FenceReporter,
): Promise<SectionTickets> {
  const started = clock()
  const tickets: Ticket[] = []
  try {
    for (const key of settings.keys) {
      const waited = (clock() - started) / 1000
      const wait = Math.max(0, Math.ceil(settings.waitSeconds - waited))
      const ticket = await broker.acquire(key, {
        wait,
        lease: settings.leaseSeconds,
        minWork: settings.minWorkSeconds,
        signal: settings.signal,
      })
      tickets.push(ticket)
    }
  } catch (error) {
    new SectionTickets(tickets).release(reporter)
    throw error
  }
  return new SectionTickets(tickets)
}

const tokenMax = 2n ** 63n - 1n

/**
 * Reads the tickets that a caller already has: one, or one for each key.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT` where one is no ticket, or two are for one key.
 */
export function heldTickets(given: unknown): SectionTickets {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (list.length === 0 || list.length > sectionKeysMax) {
    throw invalidArgument('ticket', `must be a ticket or a list of 1 to ${sectionKeysMax} tickets, not ${list.length}`)
  }
  const tickets = list.map(checkTicket).sort((one, other) => compareKeys(one.key, other.key))
  const twice = tickets.find((ticket, index) => ticket.key === tickets[index + 1]?.key)
  if (twice !== undefined) throw invalidArgument('ticket', `there are two for the key ${shown(twice.key)}`)
  return new SectionTickets(tickets)
}

function checkTicket(given: unknown): Ticket {
  const { key, token, signal, remaining } = (given ?? {}) as Partial<Ticket>
  const sound =
    keyFault(key) === undefined &&
    typeof token === 'bigint' &&
    token >= 1n &&
    token <= tokenMax &&
    signal instanceof AbortSignal &&
    typeof remaining === 'function'
  if (sound) return given as Ticket
  throw invalidArgument('ticket', `must be a ticket of a broker, or a list of them, not ${shown(given)}`)
}
