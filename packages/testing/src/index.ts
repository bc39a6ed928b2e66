export { createDatabase, type DatabaseTarget, type TestDatabase } from './database-fixture.js'
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  findEmbeddedPostgres,
  startEmbeddedPostgres,
} from './embedded-postgres.js'
export { EmbeddedPostgresError, type EmbeddedPostgresErrorCode } from './embedded-postgres-error.js'
export { type FakeBroker, type FakeBrokerOptions, type FakeHolder, fakeBroker, type Refusal } from './fake-broker.js'
export type { ManualClock } from './fake-broker-clock.js'
export type { FakeBrokerEvent } from './fake-broker-log.js'
export { findGivenPostgres, type GivenPostgres, givenPostgresVariable } from './given-postgres.js'
export { ScriptedBroker } from './scripted-broker.js'
