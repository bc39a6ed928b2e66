import type { HostTransaction, HostTransactionOptions } from '@ticketing/core'
import { answeredWithin, commitMillisecondsMax } from '@ticketing/core/pg-driver'
import { type PrismaTransactionClient, transactionId } from './prisma-client.js'
import { PrismaSession, type PrismaSessionSettings } from './prisma-session.js'

/** The open sections, by Prisma's name of their transaction. */
export type OpenSessions = Map<unknown, PrismaSession<PrismaTransactionClient>>

type Body<R> = (tx: HostTransaction<PrismaTransactionClient>) => Promise<R>

/** One call of `$transaction`: what became of the section's body inside it, and what became of it around the body. */
export class TransactionCall<R> {
  readonly #options: HostTransactionOptions
  readonly #settings: PrismaSessionSettings
  readonly #body: Body<R>
  readonly #sessions: OpenSessions
  #session: PrismaSession<PrismaTransactionClient> | undefined
  #id: unknown
  #givenUp = false
  #end: { readonly result: R } | { readonly error: unknown } | undefined
  readonly #bodyStarted = signal()
  readonly #bodySettled = signal()

  constructor(options: HostTransactionOptions, settings: PrismaSessionSettings, body: Body<R>, sessions: OpenSessions) {
    this.#settings = settings
    this.#options = options
    this.#body = body
    this.#sessions = sessions
  }

  /** What Prisma calls once its transaction has begun. It commits if this resolves, and rolls back if it rejects. */
  async run(tx: PrismaTransactionClient): Promise<void> {
    // The section may have given up waiting; then nobody listens, and Prisma rolls back what has not begun.
    if (this.#givenUp) throw new Error('The section gave up waiting for a connection.')
    const session = new PrismaSession(tx, this.#options, this.#settings)
    this.#session = session
    this.#id = transactionId(tx)
    // Without a name it must not get the place that queries outside all transactions look at.
    if (this.#id !== undefined) this.#sessions.set(this.#id, session)
    this.#bodyStarted.fire()
    try {
      this.#end = { result: await this.#body(session) }
      session.finishing('COMMIT')
    } catch (error) {
      this.#end = { error }
      session.finishing('ROLLBACK')
      throw error
    } finally {
      this.#bodySettled.fire()
    }
  }

  /** The section's result once Prisma has committed; what the body threw; or why there was no transaction or COMMIT. */
  async settle(inPrisma: Promise<unknown>): Promise<R> {
    // Whoever comes first below, a later failure is nobody's.
    inPrisma.catch(() => undefined)
    try {
      await this.#options.connecting(Promise.race([inPrisma, this.#bodyStarted.fired]))
    } catch (error) {
      // Once the body runs, it is the body that ends the section.
      this.#givenUp = this.#session === undefined
      if (this.#givenUp) throw error
    }
    const session = this.#session
    if (session === undefined) throw new Error('Prisma ended its transaction without calling back.')
    await this.#bodySettled.fired
    const failure = await answeredWithin(commitMillisecondsMax, 'The end of the transaction', inPrisma).then(
      () => undefined,
      (error: unknown) => ({ error }),
    )
    this.#sessions.delete(this.#id)
    if (this.#end !== undefined && 'error' in this.#end) throw this.#end.error
    if (failure !== undefined) throw session.lossOr(failure.error)
    session.checkCommitted()
    return (this.#end as { readonly result: R }).result
  }
}

function signal() {
  let fire!: () => void
  const fired = new Promise<void>((resolve) => {
    fire = resolve
  })
  return { fired, fire }
}
