import { type HostTransactionOptions, invalidArgument } from '@ticketing/core'
import type { PgClient, PgPool } from './pg-driver.js'

/**
 * Takes a connection that is in no transaction. One that came back to its pool in the middle of one (somebody forgot its
 * COMMIT) is destroyed: BEGIN would only warn there, and the claim would belong to a stranger's transaction.
 */
export async function checkOut(pool: PgPool, options: HostTransactionOptions): Promise<PgClient> {
  for (;;) {
    const client = await connect(pool, options.connectSignal)
    const status = client.getTransactionStatus?.()
    if (status !== 'T' && status !== 'E') return client
    const error = new Error('The pool handed out a connection that was still in a transaction.')
    client.release(error)
    options.onConnectionDestroyed(error)
  }
}

function connect(pool: PgPool, signal: AbortSignal | undefined): Promise<PgClient> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal?.reason as Error)
    if (signal?.aborted) return onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    pool.connect().then(
      (client) => {
        signal?.removeEventListener('abort', onAbort)
        // The section has given up meanwhile: the connection that came too late goes straight back.
        if (signal?.aborted) client.release()
        else resolve(client as PgClient)
      },
      (error: unknown) => {
        signal?.removeEventListener('abort', onAbort)
        reject(error)
      },
    )
  })
}

/** @throws {FenceError} `FENCE_INVALID_ARGUMENT` where `pool` is no pool of node-postgres. */
export function checkPool(pool: unknown): asserts pool is PgPool {
  const { connect, processID } = (pool ?? {}) as { connect?: unknown; processID?: unknown }
  if (typeof connect !== 'function') throw invalidArgument('pool', 'must be a Pool of node-postgres')
  if (processID !== undefined) {
    throw invalidArgument(
      'pool',
      'is a Client of node-postgres; pass a Pool, since each section takes a connection of its own',
    )
  }
}
