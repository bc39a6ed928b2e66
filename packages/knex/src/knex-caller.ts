import { type CallerTransaction, invalidArgument, type SqlRow } from '@ticketing/core'
import { adoptedState } from '@ticketing/core/pg-driver'
import type { Knex } from 'knex'
import type { KnexConnection } from './knex-driver.js'

/** What a transaction of Knex shows beyond its types. */
interface CallerTrx {
  readonly isTransaction?: boolean
  readonly parentTransaction?: unknown
  readonly client: { acquireConnection(): Promise<KnexConnection> }
  isCompleted(): boolean
}

/**
 * A transaction that the caller began with `knex.transaction`.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT` where it is none, a nested one, or over.
 */
export async function adoptTransaction(transaction: Knex.Transaction): Promise<CallerTransaction> {
  const trx = transaction as unknown as CallerTrx | undefined
  if (trx?.isTransaction !== true) throw invalidArgument('transaction', 'must be a transaction of Knex')
  if (trx.parentTransaction !== undefined) {
    throw invalidArgument('transaction', 'is nested in another one; the claim belongs to the top-level transaction')
  }
  if (trx.isCompleted()) throw invalidArgument('transaction', 'is over')
  const connection = await trx.client.acquireConnection()
  return {
    state: adoptedState(connection.getTransactionStatus?.()),
    query: async ({ text, values }) => {
      const result = connection.query({ text, values: [...values] })
      return ((await result) as { rows: SqlRow[] }).rows
    },
  }
}
