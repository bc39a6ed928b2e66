import { explainClaimError, isCurrent } from './commit-outcome.js'
import { FenceError, invalidArgument } from './fence-errors.js'
import type { FenceContext } from './fenced-section.js'
import { claimHighWater } from './high-water.js'
import { remainingMilliseconds, requireLease } from './lease-check.js'
import { refuseNested } from './nested-sections.js'
import type { SectionTickets } from './section-tickets.js'

/** The claim alone, inside a transaction that the caller began (F1, F2, F4). See `Fence.claim` for what it throws. */
export async function claimForCaller(
  context: FenceContext<unknown>,
  transaction: unknown,
  tickets: SectionTickets,
  minWorkSeconds: number,
): Promise<void> {
  const { fence, host, tables } = context
  const { dialect } = host
  refuseNested({ fence, pool: host.pool, table: tables.name }, tickets.keys) // F9
  requireLease(tickets, minWorkSeconds)
  const tx = await host.adopt(transaction)
  try {
    const receipt = await claimHighWater(tx, dialect, tables, tickets, Math.max(1, remainingMilliseconds(tickets)))
    if (tx.state === 'unsure' && !(await isCurrent(dialect, tx, receipt))) throw notInTransaction()
  } catch (error) {
    // A refusal that the caller swallows must not be followed by a COMMIT of unfenced writes. Its own end is no news here.
    if (error instanceof FenceError) await tx.query(dialect.abort()).then(ignore, ignore)
    throw explainClaimError(dialect, tables, host.describeError(error), error)
  }
}

function notInTransaction(): FenceError {
  return invalidArgument(
    'transaction',
    'the claim did not run inside a transaction, so it fences nothing; begin one first and pass it',
    'The claim itself was written, so this ticket is used up',
  )
}

function ignore(): void {}
