export { leaseExpired, transactionAborted, transactionEnded } from './commit-outcome.js'
export type {
  ClaimBounds,
  ClaimReceipt,
  Dialect,
  ErrorMeaning,
  FenceTables,
  KeyClaim,
  SchemaMigration,
  SqlRow,
  SqlStatement,
  StoredTokens,
} from './dialects/dialect.js'
export { type PostgresDialect, postgres } from './dialects/postgres.js'
export { createFence, type Fence, type FenceInternals } from './fence.js'
export { FenceError, type FenceErrorCode, fenceErrorCodes, invalidArgument, StaleTokenError } from './fence-errors.js'
export { type FenceEventName, type FenceEvents, type FenceLogger, FenceReporter } from './fence-events.js'
export { type RegisteredFence, registeredFence, registerFence } from './fence-registry.js'
export { type FenceSchema, fenceSchema, fenceSchemaSql } from './fence-schema.js'
export type { SectionWork } from './fenced-section.js'
export { currentSection, runOutside, type SectionContext, sectionInForce } from './nested-sections.js'
export {
  type FenceOptions,
  type OwnTicketOptions,
  type SectionDefaults,
  type SectionOptions,
  type SectionOptionsFor,
  sectionKeysMax,
} from './section-options.js'
export type { SectionTicket } from './section-tickets.js'
export type { MonotonicClock } from './system-clock.js'
export type {
  CallerTransaction,
  DatabaseErrorFacts,
  HostTransaction,
  HostTransactionOptions,
  IsolationLevel,
  StatementRunner,
  TransactionHost,
  TransactionState,
} from './transaction-host.js'
