import {
  type HostTransaction,
  type HostTransactionOptions,
  type SqlRow,
  type SqlStatement,
  type TransactionState,
  transactionAborted,
} from '@ticketing/core'
import { answeredWithinLease, handleEnded, statementRefusal } from '@ticketing/core/pg-driver'
import { expectClaim } from './expected-claims.js'
import type { BoundSection, GuardedTransaction } from './guarded-transaction.js'
import type { PrismaTransactionClient } from './prisma-client.js'
import { sectionClient } from './section-client.js'

/** How the adapter talks to the server, where `fenceAdapter` lets it. */
export interface PrismaSessionSettings {
  /** Keep the claim as a prepared statement of each connection. */
  readonly prepare: boolean
}

/** One interactive transaction of Prisma for the time of one section. Prisma sends BEGIN, COMMIT and ROLLBACK. */
export class PrismaSession<Tx extends PrismaTransactionClient> implements HostTransaction<Tx>, BoundSection {
  readonly handle: Tx
  readonly #tx: Tx
  readonly #prepare: boolean
  readonly #options: HostTransactionOptions
  /** The driver's side of the transaction, where `fenceAdapter` shows it. */
  #wire: GuardedTransaction | undefined
  #started = false
  #handleEnded = false
  ending: 'COMMIT' | 'ROLLBACK' | undefined
  #firstError: unknown
  /** The texts of the fence's own statements that are on their way through Prisma. */
  readonly #own = new Set<string>()
  readonly #running = new Set<Promise<unknown>>()

  constructor(tx: Tx, options: HostTransactionOptions, settings: PrismaSessionSettings) {
    this.#prepare = settings.prepare
    this.#tx = tx
    this.#options = options
    this.handle = sectionClient(tx, () => this.verdict())
  }

  query(statement: SqlStatement): Promise<readonly SqlRow[]> {
    return answeredWithinLease(this.#options.remainingMilliseconds?.(), this.#answered(statement))
  }

  async end(): Promise<void> {
    this.#handleEnded = true
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
    await this.#wire?.settled()
  }

  state(): TransactionState {
    return this.#wire?.watch.state() ?? 'unsure'
  }

  firstError(): unknown {
    return this.#wire?.watch.firstError ?? this.#firstError
  }

  verdict(): Error | undefined {
    const left = this.#options.remainingMilliseconds?.() ?? Number.POSITIVE_INFINITY
    const transactionEnded = this.#wire?.watch.ended ?? false
    return statementRefusal({ handleEnded: this.#handleEnded, transactionEnded, leaseOver: left < 1 })
  }

  /** Only in the fence's own words: with a comment of Prisma's `comments`, it may be another text each time. */
  prepares(text: string): boolean {
    return this.#prepare && this.#own.has(text)
  }

  onConnectionDestroyed(error: unknown): void {
    this.#options.onConnectionDestroyed(error)
  }

  /** Prisma sends this next. */
  finishing(ending: 'COMMIT' | 'ROLLBACK'): void {
    this.#handleEnded = true
    this.ending = ending
    this.#wire?.watch.transactionEnds()
  }

  /** Makes sure that a COMMIT which Prisma reports as done was one: an aborted transaction answers it with ROLLBACK. */
  checkCommitted(): void {
    if (this.#wire !== undefined && this.#wire.watch.lastTag !== 'COMMIT') throw transactionAborted(this.firstError())
  }

  /** What ended the connection tells more than Prisma's error. */
  lossOr(error: unknown): unknown {
    return this.#wire?.watch.lossError ?? error
  }

  /** A statement that Prisma is about to run in this transaction. */
  async run(text: unknown, send: () => Promise<unknown>): Promise<unknown> {
    if (this.#own.has(text as string)) return await send()
    const refused = this.verdict()
    if (refused !== undefined) throw refused
    const running = send()
    this.#running.add(running)
    try {
      return await running
    } catch (error) {
      this.#firstError ??= error
      throw error
    } finally {
      this.#running.delete(running)
    }
  }

  async #answered({ text, values }: SqlStatement): Promise<readonly SqlRow[]> {
    // Behind COMMIT or ROLLBACK it would run on a connection that may be another's by then.
    if (this.ending !== undefined) throw handleEnded()
    if (this.#wire !== undefined) return (await this.#wire.query(text, values)) as SqlRow[]
    const isClaim = !this.#started && this.#options.remainingMilliseconds !== undefined
    this.#started = true
    const forget = isClaim ? expectClaim(values, (transaction) => this.#bind(transaction)) : undefined
    this.#own.add(text)
    try {
      return (await this.#tx.$queryRawUnsafe(text, ...values)) as SqlRow[]
    } catch (error) {
      throw (this.#wire as GuardedTransaction | undefined)?.claimError ?? error
    } finally {
      forget?.()
      this.#own.delete(text)
    }
  }

  #bind(transaction: GuardedTransaction): void {
    this.#wire = transaction
    transaction.bind(this)
  }
}
