import type { TransactionState } from '../transaction-host.js'
import type { NativePgClient, NativePgWire } from './pg-client.js'

/** Tags after which the section's transaction is not, or no longer, the one that claimed (F12). */
const endingTags = new Set(['BEGIN', 'START TRANSACTION', 'COMMIT', 'PREPARE TRANSACTION'])

interface ServerError extends Error {
  readonly severity?: string
}

/**
 * Watches a connection from its checkout to its return: the transaction status and command tags of every reply, and the
 * first error that ended the connection. Without an `error` listener a killed backend would end the process.
 */
export class PgWatch {
  readonly #client: NativePgClient
  readonly #wire: NativePgWire
  #status = 'I'
  #lost = false
  #begun = false
  #inTransaction = false
  #ended = false
  #rollbackInReply = false
  #lastTag = ''
  /** A ROLLBACK left the transaction open: a savepoint's, or AND CHAIN. Only the identity tells them apart. */
  #unsure = false
  #rolledBack = false
  #lossError: Error | undefined
  #abortError: Error | undefined
  /** Syncs and simple queries that were sent and whose ReadyForQuery is still to come. */
  #unanswered = 0
  /** A reply has begun to arrive; node-postgres tells an error to its query before the status behind it is known. */
  #replyIsOpen = false
  #waiting: (() => void)[] = []

  /** @throws {TypeError} where the client shows no messages (the libpq binding); it has no `connection`. */
  constructor(client: NativePgClient) {
    if (client.connection === undefined) throw new TypeError('This node-postgres client shows no protocol messages.')
    this.#client = client
    this.#wire = client.connection
    client.on('error', this.#onLoss)
    const connection = this.#wire
    connection.prependListener('commandComplete', this.#onCommand)
    connection.prependListener('readyForQuery', this.#onReady)
    connection.prependListener('errorMessage', this.#onErrorMessage)
    connection.prependListener('end', this.#onEnd)
  }

  /** Takes all listeners off. The client is then nobody's, so it must go back to its pool in the same turn. */
  stop(): void {
    const connection = this.#wire
    connection.off('commandComplete', this.#onCommand)
    connection.off('readyForQuery', this.#onReady)
    connection.off('errorMessage', this.#onErrorMessage)
    connection.off('end', this.#onEnd)
    this.#client.off('error', this.#onLoss)
    // What still waits for a reply would wait for ever, since nobody hears of it any more.
    this.#unanswered = 0
    this.#wake()
  }

  /** From here on, a tag that ends or begins a transaction is the work's own. */
  transactionBegan(): void {
    this.#inTransaction = true
  }

  /** The section itself ends its transaction now. */
  transactionEnds(): void {
    this.#inTransaction = false
  }

  /** What the replies so far say about the transaction (F12). */
  state(): TransactionState {
    if (this.#lost) return 'lost'
    if (this.#ended) return 'ended'
    if (this.#status === 'E') return 'aborted'
    return this.#unsure ? 'unsure' : 'open'
  }

  get lost(): boolean {
    return this.#lost
  }

  get idle(): boolean {
    return this.#status === 'I'
  }

  get aborted(): boolean {
    return this.#status === 'E'
  }

  /** The server has confirmed a BEGIN since the checkout. */
  get begun(): boolean {
    return this.#begun
  }

  /** The work ended the transaction. */
  get ended(): boolean {
    return this.#ended
  }

  /** A ROLLBACK inside the transaction has just undone what was set since its savepoint; asking forgets it. */
  takeRollback(): boolean {
    const seen = this.#rolledBack
    this.#rolledBack = false
    return seen
  }

  /** The command tag of the last statement that was completed, without its counts. */
  get lastTag(): string {
    return this.#lastTag
  }

  /** The error that ended the connection. */
  get lossError(): Error | undefined {
    return this.#lossError
  }

  /** The error that ended the connection, else the one that aborted the transaction. */
  get firstError(): Error | undefined {
    return this.#lossError ?? this.#abortError
  }

  /** One more reply is to come. Called when its request is written, not when it is queued. */
  sent(): void {
    this.#unanswered++
  }

  /** Resolves once every reply is complete, or the connection is lost. node-postgres reports an error before that. */
  answered(): Promise<void> {
    if (this.#lost || (this.#unanswered === 0 && !this.#replyIsOpen)) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  readonly #onCommand = ({ text }: { text: string }) => {
    const tag = text.replace(/ \d+.*$/, '')
    this.#lastTag = tag
    this.#replyIsOpen = true
    if (tag === 'BEGIN') this.#begun = true
    if (tag === 'ROLLBACK') this.#rollbackInReply = true
    if (this.#inTransaction && endingTags.has(tag)) this.#ended = true
  }

  readonly #onReady = ({ status }: { status?: string }) => {
    this.#status = status ?? 'I'
    if (this.#inTransaction && this.#status === 'I') this.#ended = true
    if (this.#inTransaction && this.#rollbackInReply) {
      this.#unsure = true
      this.#rolledBack = true
    }
    if (this.#status !== 'E') this.#abortError = undefined
    this.#rollbackInReply = false
    this.#replyIsOpen = false
    this.#unanswered = Math.max(0, this.#unanswered - 1)
    if (this.#unanswered === 0) this.#wake()
  }

  readonly #onErrorMessage = (error: ServerError) => {
    this.#replyIsOpen = true
    this.#abortError ??= error
    // The server closes the connection behind it; whoever asks before that must not find it sound.
    if (error.severity === 'FATAL' || error.severity === 'PANIC') this.#onLoss(error)
  }

  readonly #onLoss = (error: Error) => {
    this.#lossError ??= error
    this.#onEnd()
  }

  readonly #onEnd = () => {
    this.#lost = true
    this.#wake()
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
