import type { AcquireOptions, Broker, ReleaseResult, Ticket } from '@ticketing/client'

/**
 * A lock service whose grants a test decides: every acquire is granted at once, with the next token. Its leases run on
 * the real clock, since the database's bounds do. Nothing excludes anybody: what must hold here is the fence.
 */
export class ScriptedBroker implements Broker {
  /** What happened, in order: `acquire k`, `release k`. */
  readonly log: string[] = []
  readonly acquired: { key: string; options: AcquireOptions }[] = []
  #token: bigint
  /** Overrides the lease that the next tickets get, in seconds. */
  leaseSeconds: number | undefined
  /** What `release` does, instead of succeeding. */
  onRelease: (() => Promise<ReleaseResult>) | undefined

  constructor(firstToken = 1_000n) {
    this.#token = firstToken
  }

  /** The token of the last grant. */
  get lastToken(): bigint {
    return this.#token
  }

  /** Takes a token out of turn, as another process would. */
  nextToken(): bigint {
    this.#token += 1n
    return this.#token
  }

  /** Gives the next grant this token. */
  grantNext(token: bigint): void {
    this.#token = token - 1n
  }

  async acquire(key: string, options: AcquireOptions): Promise<Ticket> {
    options.signal?.throwIfAborted()
    this.acquired.push({ key, options })
    this.log.push(`acquire ${key}`)
    const leaseSeconds = this.leaseSeconds ?? Number(options.lease)
    return new ScriptedTicket(key, this.nextToken(), leaseSeconds, async () => {
      this.log.push(`release ${key}`)
      return (await this.onRelease?.()) ?? 'released'
    })
  }
}

class ScriptedTicket implements Ticket {
  readonly key: string
  readonly token: bigint
  readonly signal: AbortSignal
  readonly #end: number
  readonly #release: () => Promise<ReleaseResult>
  readonly #timer: NodeJS.Timeout

  constructor(key: string, token: bigint, leaseSeconds: number, release: () => Promise<ReleaseResult>) {
    this.key = key
    this.token = token
    this.#release = release
    this.#end = performance.now() + leaseSeconds * 1000
    const controller = new AbortController()
    this.signal = controller.signal
    this.#timer = setTimeout(() => controller.abort(new Error('the lease is over')), leaseSeconds * 1000)
  }

  remaining(): number {
    return Math.max(0, (this.#end - performance.now()) / 1000)
  }

  async release(): Promise<ReleaseResult> {
    clearTimeout(this.#timer)
    return await this.#release()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }
}
