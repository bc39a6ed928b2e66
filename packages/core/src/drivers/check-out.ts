import type { HostTransactionOptions } from '../transaction-host.js'

/** How one library's pool gives and takes its connections. */
export interface ConnectionSource<C> {
  take(): Promise<C>
  giveBack(connection: C): void
  destroy(connection: C, error: Error): void
  /** `I`, `T` or `E` as the server said last, where the driver shows it. */
  transactionStatus(connection: C): string | null | undefined
}

/**
 * Takes a connection that is in no transaction. One that came back to its pool in the middle of one (somebody forgot its
 * COMMIT) is destroyed: BEGIN would only warn there, and the claim would belong to a stranger's transaction.
 *
 * @throws the reason of `connectSignal`; a connection that comes after that goes straight back.
 */
export async function checkOut<C>(
  source: ConnectionSource<C>,
  options: Pick<HostTransactionOptions, 'connectSignal' | 'onConnectionDestroyed'>,
): Promise<C> {
  for (;;) {
    const connection = await takeInTime(source, options.connectSignal)
    const status = source.transactionStatus(connection)
    if (status !== 'T' && status !== 'E') return connection
    const error = new Error('The pool handed out a connection that was still in a transaction.')
    source.destroy(connection, error)
    options.onConnectionDestroyed(error)
  }
}

function takeInTime<C>(source: ConnectionSource<C>, signal: AbortSignal | undefined): Promise<C> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal?.reason as Error)
    if (signal?.aborted) return onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    source.take().then(
      (connection) => {
        signal?.removeEventListener('abort', onAbort)
        if (signal?.aborted) source.giveBack(connection)
        else resolve(connection)
      },
      (error: unknown) => {
        signal?.removeEventListener('abort', onAbort)
        reject(error)
      },
    )
  })
}
