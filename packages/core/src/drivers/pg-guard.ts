import type { NativePgClient } from './pg-client.js'

/**
 * Stands before the `query` method of a native client for the time of one section, because a library that hides its
 * connection sends through it whatever it likes, nested transactions and late work included. It refuses what the section
 * refuses, before a byte is sent, and knows what is still running.
 */
export class PgGuard {
  readonly #client: NativePgClient
  readonly #inner: (...args: unknown[]) => unknown
  readonly #verdict: (text: string) => Error | undefined
  #passing = false
  readonly #running = new Set<Promise<unknown>>()

  /** @param verdict - why a statement that the section did not send itself must not leave; undefined lets it pass. */
  constructor(client: NativePgClient, verdict: (text: string) => Error | undefined) {
    this.#client = client
    this.#inner = client.query
    this.#verdict = verdict
    client.query = (...args: unknown[]) => this.#query(args)
  }

  /** Gives the client its own method back. */
  remove(): void {
    this.#client.query = this.#inner
  }

  /** Runs `call`, during which the section itself sends its own statements (BEGIN, claim, COMMIT, ROLLBACK). */
  pass<T>(call: () => T): T {
    this.#passing = true
    try {
      return call()
    } finally {
      this.#passing = false
    }
  }

  /** Resolves once nothing that was sent is still running. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
  }

  #query(args: unknown[]): unknown {
    const refused = this.#passing ? undefined : this.#verdict(textOf(args[0]))
    if (refused !== undefined) return refuse(args, refused)
    const callbackAt = args.findLastIndex((argument) => typeof argument === 'function')
    if (callbackAt === -1) {
      const result = this.#inner.apply(this.#client, args)
      if (result instanceof Promise) this.#follow(result)
      return result
    }
    const callback = args[callbackAt] as (...result: unknown[]) => void
    this.#follow(
      new Promise<void>((resolve) => {
        args[callbackAt] = (...result: unknown[]) => {
          resolve()
          callback(...result)
        }
      }),
    )
    return this.#inner.apply(this.#client, args)
  }

  #follow(statement: Promise<unknown>): void {
    this.#running.add(statement)
    const done = () => void this.#running.delete(statement)
    statement.then(done, done)
  }
}

/** The text of what `query` was given: a text, or an object with one; a query object shows none. */
function textOf(query: unknown): string {
  const text = typeof query === 'string' ? query : (query as { text?: unknown } | undefined)?.text
  return typeof text === 'string' ? text : ''
}

/** Answers as the driver would: through the callback if there is one, else through a promise. */
function refuse(args: readonly unknown[], error: Error): unknown {
  const callback = args.findLast((argument) => typeof argument === 'function') as ((error: Error) => void) | undefined
  if (callback === undefined) return Promise.reject(error)
  process.nextTick(callback, error)
  return undefined
}
