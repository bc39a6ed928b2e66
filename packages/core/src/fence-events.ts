import { EventEmitter } from 'node:events'
import { invalidArgument } from './fence-errors.js'

/** What happens on the side of a section and does not change its result. */
export interface FenceEvents {
  /** A ticket could not be released for certain; the key stays held until its lease ends (F10). */
  'release-failed': { readonly key: string; readonly token: bigint; readonly error: unknown }
  /** The section is run again under the same tickets: its claim met a serialisation failure, or its work did (F5). */
  retry: {
    readonly keys: readonly string[]
    readonly attempt: number
    readonly of: 'claim' | 'work'
    readonly error: unknown
  }
  /** A connection was destroyed instead of returned to its pool (F13). */
  'connection-destroyed': { readonly error: unknown }
  /** The work went on after its section had ended and then failed; nobody else hears of it. */
  'late-failure': { readonly keys: readonly string[]; readonly error: unknown }
}

export type FenceEventName = keyof FenceEvents

/** Takes what the fence has to say on the side; pino and console both fit. */
export interface FenceLogger {
  warn(details: object, message: string): void
}

const messages: Record<FenceEventName, string> = {
  'release-failed': 'a ticket was not confirmed as released; its key stays held until the lease ends',
  retry: 'a section is run again after a serialisation failure or deadlock',
  'connection-destroyed': 'a database connection was destroyed instead of returned to its pool',
  'late-failure': 'the work of a section failed after the section had ended',
}

/** The side channel of one fence: typed events, and the log. */
export class FenceReporter {
  readonly #emitter = new EventEmitter()
  readonly #logger: FenceLogger | undefined

  constructor(logger: FenceLogger | undefined) {
    this.#logger = logger
  }

  /**
   * @returns a function that takes the listener off again.
   * @throws {FenceError} `FENCE_INVALID_ARGUMENT` for an event that does not exist.
   */
  on<Name extends FenceEventName>(name: Name, listener: (event: FenceEvents[Name]) => void): () => void {
    if (!Object.hasOwn(messages, name)) {
      throw invalidArgument('event', `must be one of ${Object.keys(messages).join(', ')}, not ${JSON.stringify(name)}`)
    }
    this.#emitter.on(name, listener)
    return () => this.#emitter.off(name, listener)
  }

  /** Never throws: a listener's or logger's fault must not change how a section ends, nor must one that is async. */
  report<Name extends FenceEventName>(name: Name, event: FenceEvents[Name]): void {
    call(() => this.#logger?.warn({ event: name, ...event }, messages[name]))
    const listeners = this.#emitter.listeners(name) as ((event: FenceEvents[Name]) => unknown)[]
    for (const listener of listeners) call(() => listener(event))
  }
}

function call(listener: () => unknown): void {
  // The call itself is made at once; only its failure, thrown or rejected, is heard later.
  new Promise((resolve) => resolve(listener())).catch((error: unknown) => {
    process.emitWarning(`A listener or logger of a fence failed: ${String(error)}`, 'TicketingWarning')
  })
}
