import { FenceError, invalidArgument } from '@ticketing/core'
import type { ConnectionSource, NativePgClient } from '@ticketing/core/pg-driver'
import type { Knex } from 'knex'

/** The native connection of Knex's PostgreSQL client, as its pool hands it out. */
export interface KnexConnection extends NativePgClient {
  getTransactionStatus?(): string | null
  end(): unknown
  /** Set by Knex on a connection that its pool must not hand out again. */
  __knex__disposed?: unknown
}

/** The inner client of a Knex instance, as far as the adapter calls it. */
interface KnexClient {
  readonly driverName?: string
  readonly transacting?: boolean
  acquireConnection(): Promise<KnexConnection>
  releaseConnection(connection: KnexConnection): Promise<void>
}

/**
 * The pool behind a Knex instance.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT` where it is no Knex instance on node-postgres, or a transaction.
 */
export function connectionsOf(knex: Knex): ConnectionSource<KnexConnection> & { readonly pool: object } {
  const client = (knex as { client?: KnexClient } | undefined)?.client
  if (typeof client?.acquireConnection !== 'function') throw invalidArgument('knex', 'must be a Knex instance')
  if (client.transacting === true) {
    throw invalidArgument('knex', 'is a transaction; a fence needs the Knex instance itself, since it opens its own')
  }
  if (client.driverName !== 'pg') {
    throw invalidArgument('knex', `uses the driver "${client.driverName}"; this version supports "pg" (PostgreSQL)`)
  }
  return {
    pool: client,
    take: () => client.acquireConnection(),
    giveBack: (connection) => void client.releaseConnection(connection),
    destroy(connection, error) {
      // The pool looks at the mark only when it would hand the connection out again; the socket must not live till then.
      connection.__knex__disposed = error
      connection.on('error', () => undefined)
      void Promise.resolve(connection.end()).catch(() => undefined)
      void client.releaseConnection(connection)
    },
    transactionStatus: (connection) => connection.getTransactionStatus?.(),
  }
}

/** Knex puts the SQL, its values included, before the message of every error that it passes on. Ours stays as it is. */
export function withFixedMessage(error: Error | undefined): Error | undefined {
  if (!(error instanceof FenceError)) return error
  const { message } = error
  Object.defineProperty(error, 'message', { get: () => message, set: () => undefined, configurable: true })
  return error
}
