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
 * @throws what `connecting` does; a connection that comes after that goes straight back.
 */
export async function checkOut<C>(
  source: ConnectionSource<C>,
  options: Pick<HostTransactionOptions, 'connecting' | 'onConnectionDestroyed'>,
): Promise<C> {
  for (;;) {
    const connection = await takeInTime(source, options)
    const status = source.transactionStatus(connection)
    if (status !== 'T' && status !== 'E') return connection
    const error = new Error('The pool handed out a connection that was still in a transaction.')
    source.destroy(connection, error)
    options.onConnectionDestroyed(error)
  }
}

async function takeInTime<C>(
  source: ConnectionSource<C>,
  options: Pick<HostTransactionOptions, 'connecting'>,
): Promise<C> {
  let givenUp = false
  const taking = source.take().then((connection) => {
    if (givenUp) source.giveBack(connection)
    return connection
  })
  try {
    return await options.connecting(taking)
  } catch (error) {
    givenUp = true
    throw error
  }
}
