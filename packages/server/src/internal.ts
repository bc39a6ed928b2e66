/**
 * The lock table as a pure state machine, for this repository's simulation and tests. Outside semver.
 */
export type { AcquireCommand, ReleaseCommand } from './lock-table/commands.js'
export type { Change, Effect, Holder, Reply, ReplyFrame } from './lock-table/effects.js'
export { LockTable, type LockTableLimits, type LockTableOptions } from './lock-table/lock-table.js'
export { TokenSequence, tokenSeed, tokenSeedMax } from './lock-table/token-sequence.js'
