import { reconnectMillisecondsFirst, reconnectMillisecondsMax, sessionSecondsMin } from './limits.js'

/**
 * How long to wait before the next attempt to connect: exponential back-off with full jitter, so that many clients of a
 * server that went away do not come back at the same moment (C15).
 */
export class ReconnectDelay {
  readonly #random: () => number
  #bound = reconnectMillisecondsFirst

  constructor(random: () => number) {
    this.#random = random
  }

  /** Milliseconds until the next attempt, after a session that was ready for so long (0 if it never was). */
  next(readyMilliseconds: number): number {
    if (readyMilliseconds >= sessionSecondsMin * 1000) this.#bound = reconnectMillisecondsFirst
    const delay = this.#random() * this.#bound
    this.#bound = Math.min(this.#bound * 2, reconnectMillisecondsMax)
    return delay
  }
}
