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

export interface Interruption {
  /** Aborts with an {@link Interrupted} as its reason. */
  readonly signal: AbortSignal
  /** The promise's own outcome, or a rejection with {@link Interrupted} if that comes first. */
  or<T>(promise: Promise<T>): Promise<T>
  /** The same for what only the caller's signal interrupts, not the end of the lease. */
  orCancelled<T>(promise: Promise<T>): Promise<T>
  /** From here on nothing is interrupted any more. */
  stop(): void
}

/** Watches the end of the lease and the caller's signal over the steps of one attempt. */
export function watchInterruption(lease: AbortSignal, caller: AbortSignal | undefined): Interruption {
  const controller = new AbortController()
  const cancelled = new AbortController()
  const onLease = () => controller.abort(new Interrupted(true, lease.reason))
  const onCaller = () => {
    const interrupted = new Interrupted(false, caller?.reason)
    controller.abort(interrupted)
    cancelled.abort(interrupted)
  }
  const stop = () => {
    lease.removeEventListener('abort', onLease)
    caller?.removeEventListener('abort', onCaller)
  }
  lease.addEventListener('abort', onLease, { once: true })
  caller?.addEventListener('abort', onCaller, { once: true })
  // The lease comes first: when both are over, the ticket is what the caller must know about.
  if (lease.aborted) onLease()
  else if (caller?.aborted) onCaller()

  return {
    signal: controller.signal,
    or: (promise) => orAborted(promise, controller.signal),
    orCancelled: (promise) => orAborted(promise, cancelled.signal),
    stop,
  }
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error)
    const settle = () => signal.removeEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    promise.then(
      (value) => {
        settle()
        resolve(value)
      },
      (error: unknown) => {
        settle()
        reject(error)
      },
    )
  })
}
