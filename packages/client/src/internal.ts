/**
 * The deciding parts of the client, and a broker in surroundings of the caller's, for this repository's simulation and
 * tests. Outside semver.
 */
export type { Clock, Environment, Moment, Timer } from './environment.js'
export { elapsedMilliseconds, LeaseClock, laterMoment } from './lease-clock.js'
export { nodeEnvironment } from './node-environment.js'
export {
  type AcquireRequest,
  type PendingAcquire,
  PendingRequests,
  type ReleaseRequest,
} from './pending-requests.js'
export { Session, type SessionOutput } from './session.js'
export type { SessionEnd, SessionEndKind } from './session-end.js'
export { connectIn } from './ticket-broker.js'
