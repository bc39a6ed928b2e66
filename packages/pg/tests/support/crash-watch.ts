/**
 * Hears what would have ended an ordinary process: uncaught exceptions and unhandled rejections, from its making to its
 * disposal. Vitest reports them too, but not which test they belong to.
 */
export class CrashWatch implements Disposable {
  readonly #heard: unknown[] = []
  readonly #onCrash = (error: unknown): void => {
    this.#heard.push(error)
  }

  constructor() {
    process.on('uncaughtException', this.#onCrash)
    process.on('unhandledRejection', this.#onCrash)
  }

  /** What was heard so far, once the rejections of the running turn have shown themselves. */
  async crashes(): Promise<readonly unknown[]> {
    // Node tells of a rejection when the microtasks are done, before the next turn of the event loop.
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve))
    return this.#heard
  }

  [Symbol.dispose](): void {
    process.off('uncaughtException', this.#onCrash)
    process.off('unhandledRejection', this.#onCrash)
  }
}
