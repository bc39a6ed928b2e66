import { randomUUID } from 'node:crypto'
import type { ClaimReceipt, Dialect, FenceTables } from './dialects/dialect.js'
import { FenceError, StaleTokenError } from './fence-errors.js'
import { schemaVersionBreaking } from './schema-version.js'
import type { SectionTickets } from './section-tickets.js'
import type { StatementRunner } from './transaction-host.js'

const claimMarginMilliseconds = 500
const claimMarginShare = 0.1

/**
 * Moves the high-water of every key to its ticket's token, as the transaction's first statement, together with the
 * bounds of F4. Fewer claimed rows than keys is a refusal (F1, F2, F8).
 *
 * @throws {StaleTokenError} where a stored high-water or the floor is at or above a token.
 * @throws {FenceError} `FENCE_SCHEMA_TOO_NEW`, `FENCE_NOT_MIGRATED`.
 */
export async function claimHighWater(
  tx: StatementRunner,
  dialect: Dialect,
  tables: FenceTables,
  tickets: SectionTickets,
  remainingMilliseconds: number,
): Promise<ClaimReceipt> {
  const claims = tickets.claims()
  const bounds = {
    transactionMilliseconds: remainingMilliseconds,
    claimMilliseconds: claimBound(remainingMilliseconds, claims.length),
  }
  const rows = await tx.query(dialect.claim(tables, claims, freshAttempt(), bounds))
  const receipt = dialect.readClaim(rows)
  if (receipt.claimed === claims.length) return receipt
  throw await refusal(tx, dialect, tables, tickets)
}

/** 16 bytes that no other attempt has. A UUID costs a tenth of random bytes here, since Node draws them in advance. */
function freshAttempt(): Uint8Array {
  return Buffer.from(randomUUID().replaceAll('-', ''), 'hex')
}

/**
 * How long the claim may wait for one row. It ends by a margin (a tenth of the lease, at most 500 ms) before the bounds
 * of the transaction, so that a claim that waits is told apart from a transaction that is over (F4), and the keys share
 * it, since the database counts each wait for itself.
 */
function claimBound(transactionMilliseconds: number, keys: number): number {
  const margin = Math.min(claimMarginMilliseconds, transactionMilliseconds * claimMarginShare)
  return Math.max(1, Math.floor((transactionMilliseconds - margin) / keys))
}

async function refusal(
  tx: StatementRunner,
  dialect: Dialect,
  tables: FenceTables,
  tickets: SectionTickets,
): Promise<FenceError> {
  const stored = dialect.readStoredTokens(tickets.keys, await tx.query(dialect.storedTokens(tables, tickets.keys)))
  if (stored.floor === undefined || stored.schemaVersion === undefined) return notMigrated(tables)
  if (stored.schemaVersion >= schemaVersionBreaking) return schemaTooNew(tables, stored.schemaVersion)
  for (const { key, token } of tickets.claims()) {
    const highWater = stored.highWaters.get(key)
    if (highWater !== undefined && highWater >= token) return new StaleTokenError(key, token, highWater)
    if (stored.floor >= token) return new StaleTokenError(key, token, stored.floor)
  }
  // Only a row changed by hand in between leads here. The refusal stands; the error tells what was read.
  const { key, token } = tickets
  return new StaleTokenError(key, token, stored.highWaters.get(key) ?? stored.floor)
}

export function notMigrated(tables: FenceTables, cause?: unknown): FenceError {
  return new FenceError(
    'FENCE_NOT_MIGRATED',
    'not-executed',
    `The fence's tables ${tables.fence} and ${tables.floor} do not exist, or their floor row is missing. Nothing was ` +
      'written. Call migrate() once when your application is deployed.',
    { cause },
  )
}

export function schemaTooNew(tables: FenceTables, version: number): FenceError {
  return new FenceError(
    'FENCE_SCHEMA_TOO_NEW',
    'not-executed',
    `The table ${tables.fence} has schema version ${version}; this package writes versions below ${schemaVersionBreaking}. ` +
      'Nothing was written. Upgrade the @ticketing packages of this process.',
  )
}
