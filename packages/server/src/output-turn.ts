/** Something with output to write at the end of the turn. */
export interface Flushable {
  flush(): void
}

/**
 * Gathers the sessions that were sent something in this turn of the event loop, and has each write once at its end:
 * a socket write costs more than all else that a request needs.
 */
export class OutputTurn {
  #sessions: Flushable[] = []

  /** Asks for one `flush` of this session; the session sees to it that it is added once a turn. */
  add(session: Flushable): void {
    if (this.#sessions.length === 0) setImmediate(this.#flush)
    this.#sessions.push(session)
  }

  readonly #flush = (): void => {
    const sessions = this.#sessions
    this.#sessions = []
    for (const session of sessions) session.flush()
  }
}
