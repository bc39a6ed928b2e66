/** The wait for a step was ended from outside, by the lease or by the caller's signal. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  readonly byLease: boolean
  readonly reason: unknown

  constructor(byLease: boolean, reason: unknown) {
    super('A step of a section was interrupted.')
    this.byLease = byLease
    this.reason = reason
  }
}

type Reject = (interrupted: Interrupted) => void

/**
 * Watches the end of the lease and the caller's signal over the steps of one attempt. A section waits for several steps, so
 * this does without an AbortController, which costs more than the rest of a wait.
 */
export class Interruption {
  readonly #lease: AbortSignal
  readonly #caller: AbortSignal | undefined
  #interrupted: Interrupted | undefined
  /** Who waits, and whether only the caller's signal ends the wait. */
  readonly #waiting = new Map<Reject, boolean>()

  constructor(lease: AbortSignal, caller: AbortSignal | undefined) {
    this.#lease = lease
    this.#caller = caller
    lease.addEventListener('abort', this.#onLease, { once: true })
    caller?.addEventListener('abort', this.#onCaller, { once: true })
    // The lease comes first: when both are over, the ticket is what the caller must know about.
    if (lease.aborted) this.#onLease()
    else if (caller?.aborted) this.#onCaller()
  }

  /** The promise's own outcome, or a rejection with {@link Interrupted} if that comes first. */
  readonly or = <T>(promise: Promise<T>): Promise<T> => this.#wait(promise, false)

  /** The same for what only the caller's signal interrupts, not the end of the lease. */
  orCancelled<T>(promise: Promise<T>): Promise<T> {
    return this.#wait(promise, true)
  }

  /** From here on nothing is interrupted any more. */
  stop(): void {
    this.#lease.removeEventListener('abort', this.#onLease)
    this.#caller?.removeEventListener('abort', this.#onCaller)
  }

  #wait<T>(promise: Promise<T>, byCallerOnly: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const interrupted = this.#interrupted
      if (interrupted !== undefined && !(byCallerOnly && interrupted.byLease)) reject(interrupted)
      else this.#waiting.set(reject, byCallerOnly)
      promise.then(
        (value) => {
          this.#waiting.delete(reject)
          resolve(value)
        },
        (error: unknown) => {
          this.#waiting.delete(reject)
          reject(error)
        },
      )
    })
  }

  readonly #onLease = () => this.#interrupt(new Interrupted(true, this.#lease.reason))

  readonly #onCaller = () => this.#interrupt(new Interrupted(false, this.#caller?.reason))

  #interrupt(interrupted: Interrupted): void {
    // The end of the lease does not end every wait, so the caller's signal still counts after it.
    if (this.#interrupted === undefined || this.#interrupted.byLease) this.#interrupted = interrupted
    for (const [reject, byCallerOnly] of this.#waiting) {
      if (byCallerOnly && interrupted.byLease) continue
      this.#waiting.delete(reject)
      reject(interrupted)
    }
  }
}
