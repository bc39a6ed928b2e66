import type { HolderEnded, StopPoint } from './holder-process.js'
import { stallLeaseSeconds } from './settings.js'
import type { StallOver } from './stall-process.js'

/** What the scheduler of a busy machine may add to the database's bound before the bound counts as broken. */
const schedulingSecondsMax = 1

/** From here on PostgreSQL bounds a transaction itself (`transaction_timeout`); before, each statement and each pause. */
const transactionTimeoutMajor = 17

/** The bound by which the database ends the transaction of a stopped holder (F4), counted from the grant. */
export function boundText(postgresMajor: number): string {
  const lease = `the lease, ${stallLeaseSeconds} s`
  return postgresMajor >= transactionTimeoutMajor ? lease : `${lease}, and one statement`
}

/** What did not go as the fence promises; empty if all did. */
export function stallFaults(stopPoint: StopPoint, stall: StallOver): readonly string[] {
  const { key, granted, stopped, databaseEndedAt, successor, wokenAt, ended } = stall
  const faults: string[] = []
  const expect = (holds: boolean, fault: string) => holds || faults.push(fault)

  const token = granted.tokens.get(key) ?? 0n
  const pastLease = ended.stoppedMilliseconds >= granted.leaseEndsAt - stopped.at && wokenAt > granted.leaseEndsAt
  expect(pastLease, 'the holder did not stand still past its lease')
  if ('refusedAt' in successor) faults.push(`the next holder did not get in: ${successor.message}`)
  else expect(successor.token > token, `the next holder's token ${successor.token} is not above ${token}`)

  if (stopPoint === 'before-begin') {
    const { refusal } = ended
    const stale = refusal?.stale
    expect(stale !== undefined, `the claim was not refused as stale: ${endText(ended)}`)
    if (stale === undefined) return faults
    expect(stale.token === granted.tokens.get(stale.key), `the refusal names ${stale.token}, which is not its token`)
    expect(stale.highWater > stale.token, `the refusal names ${stale.highWater}, which is no higher token`)
  }
  if (stopPoint === 'in-transaction') {
    const expired = ended.refusal?.code === 'FENCE_LEASE_EXPIRED'
    expect(expired, `the holder was not refused for its lease: ${endText(ended)}`)
    const bound = granted.at + (stallLeaseSeconds + schedulingSecondsMax) * 1000
    expect(
      databaseEndedAt !== undefined && databaseEndedAt <= bound,
      `the database did not end the holder's transaction by its bound, ${stallLeaseSeconds} s after the grant`,
    )
  }
  return faults
}

function endText({ refusal }: HolderEnded): string {
  return refusal === undefined ? 'its transfer was committed' : `${refusal.code}: ${refusal.message}`
}
