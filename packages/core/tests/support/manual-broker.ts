import { type AcquireOptions, type Broker, type ReleaseResult, type Ticket, TicketError } from '@ticketing/client'
import type { ManualTime } from './manual-time.js'

/** A lock service whose grants, leases and releases a test decides. It excludes nobody: what must hold is the fence. */
export class ManualBroker implements Broker {
  readonly acquires: { readonly key: string; readonly options: AcquireOptions }[] = []
  /** Runs before a grant: it may wait, let time pass, or throw the refusal. */
  onAcquire: ((key: string) => void | Promise<void>) | undefined
  /** Answers a release. */
  onRelease: ((key: string) => Promise<ReleaseResult>) | undefined
  /** Shorter leases of some keys, in seconds: what a client can prove of a lease differs from ticket to ticket. */
  readonly leaseSeconds = new Map<string, number>()
  readonly #time: ManualTime
  readonly #journal: string[]
  #lastToken = 100n

  constructor(time: ManualTime, journal: string[]) {
    this.#time = time
    this.#journal = journal
  }

  /** The token of the next grant. */
  set nextToken(token: bigint) {
    this.#lastToken = token - 1n
  }

  async acquire(key: string, options: AcquireOptions): Promise<Ticket> {
    this.#journal.push(`acquire ${key}`)
    this.acquires.push({ key, options })
    await Promise.race([this.onAcquire?.(key) ?? Promise.resolve(), cancelled(options.signal)])
    if (options.signal?.aborted) throw cancellation(options.signal)
    this.#lastToken += 1n
    return this.#ticket(key, this.#lastToken, (this.leaseSeconds.get(key) ?? Number(options.lease)) * 1000)
  }

  #ticket(key: string, token: bigint, leaseMilliseconds: number): Ticket {
    const time = this.#time
    const end = time.now() + leaseMilliseconds
    const over = new AbortController()
    time.after(leaseMilliseconds, () =>
      over.abort(new TicketError('TICKET_LEASE_OVER', 'unknown', 'The lease is over.')),
    )
    const release = async () => {
      this.#journal.push(`release ${key}`)
      return (await this.onRelease?.(key)) ?? ('released' as const)
    }
    return {
      key,
      token,
      signal: over.signal,
      remaining: () => Math.max(0, (end - time.now()) / 1000),
      release,
      [Symbol.asyncDispose]: async () => void (await release().catch(() => undefined)),
    }
  }
}

function cancelled(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(cancellation(signal)), { once: true })
  })
}

function cancellation(signal: AbortSignal): TicketError {
  return new TicketError('TICKET_CANCELLED', 'not-executed', 'The acquire was cancelled.', { cause: signal.reason })
}
