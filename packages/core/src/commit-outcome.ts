import type { ClaimReceipt, Dialect, FenceTables } from './dialects/dialect.js'
import { FenceError } from './fence-errors.js'
import { notMigrated } from './high-water.js'
import type { HostTransaction, StatementRunner, TransactionHost } from './transaction-host.js'

/**
 * Makes sure, before COMMIT is sent, that the transaction that claimed is still the current one and sound (F12). By the
 * replies' status where the driver shows it, else by the transaction's identity.
 *
 * @throws {FenceError} `FENCE_TX_ABORTED`, `FENCE_TX_ENDED`, or the driver's error where the connection is lost.
 */
export async function checkTransaction(
  host: TransactionHost<unknown, unknown>,
  tx: HostTransaction<unknown>,
  receipt: ClaimReceipt,
): Promise<void> {
  const state = tx.state()
  if (state === 'open') return
  if (state === 'aborted') throw transactionAborted(tx.firstError())
  if (state === 'ended') throw transactionEnded()
  if (state === 'lost') throw (tx.firstError() ?? transactionAborted(undefined)) as Error
  try {
    if (await isCurrent(host.dialect, tx, receipt)) return
  } catch (error) {
    const { sqlState, fatal } = host.describeError(error)
    if (host.dialect.errorMeaning(sqlState, fatal) === 'aborted') throw transactionAborted(tx.firstError() ?? error)
    throw error
  }
  throw transactionEnded()
}

/** Whether the current transaction is the one that claimed, by its identity. */
export async function isCurrent(dialect: Dialect, tx: StatementRunner, receipt: ClaimReceipt): Promise<boolean> {
  return dialect.readIdentity(await tx.query(dialect.identity())) === receipt.identity
}

/** What a claim's failure means. Anything that is no refusal of the fence stays the driver's own error. */
export function explainClaimError(dialect: Dialect, tables: FenceTables, facts: Facts, error: unknown): unknown {
  if (error instanceof FenceError) return error
  switch (dialect.errorMeaning(facts.sqlState, facts.fatal)) {
    case 'no-table':
      return notMigrated(tables, error)
    case 'blocked':
    case 'lease-ended':
      return new FenceError(
        'FENCE_BLOCKED',
        'not-executed',
        'The claim waited for its row in the database until its bound and was ended. The token was not judged, and ' +
          'nothing was written. An earlier holder is stopped inside its transaction, or the row is locked by something ' +
          'else. Run a new section later; the database ends a stopped holder by its own bound.',
        { cause: error },
      )
    default:
      return error
  }
}

/** What a failed COMMIT means for the section's writes (F6). */
export function explainCommitError(dialect: Dialect, facts: Facts, error: unknown): unknown {
  if (error instanceof FenceError) return error
  switch (dialect.errorMeaning(facts.sqlState, facts.fatal)) {
    case 'lease-ended':
      return leaseExpired(error)
    case 'unknown':
      return new FenceError(
        'FENCE_COMMIT_UNKNOWN',
        'unknown',
        'COMMIT was sent and its answer was lost: the section is written whole or not at all, and this process cannot ' +
          'tell which. Its connection was destroyed. Before you run the work again, read in the database whether it was done.',
        { cause: error },
      )
    case 'aborted':
      return transactionAborted(error)
    default:
      return new FenceError(
        'FENCE_COMMIT_FAILED',
        'not-executed',
        'The database refused COMMIT (see cause) and rolled the transaction back. Nothing of the section was written.',
        { cause: error },
      )
  }
}

/** The conservative lease ended inside the section (F1). */
export function leaseExpired(cause: unknown): FenceError {
  return new FenceError(
    'FENCE_LEASE_EXPIRED',
    'not-executed',
    'The lease ended before COMMIT was sent. The transaction was rolled back and nothing was written. If the work needs ' +
      'longer, ask for a longer lease or do less in one section.',
    { cause },
  )
}

/** The database had aborted the transaction, so that its COMMIT would have been, or was, a ROLLBACK (F12). */
export function transactionAborted(cause: unknown): FenceError {
  return new FenceError(
    'FENCE_TX_ABORTED',
    'not-executed',
    'A statement failed inside the section and its error was caught, so the database had aborted the transaction and ' +
      'COMMIT would have rolled it back. Nothing was written. Let such an error reach the section, or wrap the statement ' +
      'that may fail in a savepoint.',
    { cause },
  )
}

/** The work ended the section's own transaction (F12). */
export function transactionEnded(): FenceError {
  return new FenceError(
    'FENCE_TX_ENDED',
    'unknown',
    'The work ended the transaction of its section itself (COMMIT, ROLLBACK or PREPARE TRANSACTION). What it committed ' +
      'stands and cannot be undone; the rest was not written. Leave the end of the transaction to the section: return to ' +
      'commit, throw to roll back.',
  )
}

interface Facts {
  readonly sqlState: string | undefined
  readonly fatal: boolean
}
