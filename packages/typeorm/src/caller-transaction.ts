import { type CallerTransaction, invalidArgument, type SqlRow } from '@ticketing/core'
import { adoptedState } from '@ticketing/core/pg-driver'
import type { DataSource, EntityManager } from 'typeorm'
import { dataSourceOf, type TypeOrmConnection, transactionDepthOf } from './typeorm-driver.js'

/**
 * The transaction that a caller began with `dataSource.transaction` or on a runner of its own.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT` where the manager is in none, in a savepoint, or of another DataSource.
 */
export async function adoptTransaction(dataSource: DataSource, manager: EntityManager): Promise<CallerTransaction> {
  const refuse = (fault: string) => invalidArgument('transaction', fault)
  const runner = (manager as Partial<EntityManager> | null | undefined)?.queryRunner
  if (typeof runner?.query !== 'function') {
    throw refuse('must be the EntityManager of a transaction, as dataSource.transaction hands it to its callback')
  }
  if (dataSourceOf(manager) !== dataSource) throw refuse("belongs to another DataSource than the fence's")
  if (runner.isReleased || !runner.isTransactionActive) throw refuse('has ended, or was never begun')
  const depth = transactionDepthOf(runner)
  if (depth !== undefined && depth > 1) {
    throw refuse('is a nested one (a savepoint); claim as the first statement of the top-level transaction')
  }
  const native = (await runner.connect()) as TypeOrmConnection['native']
  return {
    state: adoptedState(native.getTransactionStatus?.()),
    query: async ({ text, values }) => (await runner.query(text, [...values], true)).records as SqlRow[],
  }
}
