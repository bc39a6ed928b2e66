/**
 * The deciding parts of the client, and a broker in surroundings of the caller's, for this repository's simulation and
 * tests, and for the fake broker of `@ticketing/testing`. Outside semver.
 */
export {
  answerLost,
  brokerClosed,
  cancelled,
  closedWhilePending,
  leaseTooShort,
  named,
  neverConnected,
  notInTime,
  refusedAsBusy,
} from './acquire-errors.js'
export { type AcquireSettings, checkAcquire, checkOptionNames, invalidArgument, shown } from './acquire-options.js'
export type { Clock, Environment, Moment, Timer } from './environment.js'
export { elapsedMilliseconds, LeaseClock, laterMoment } from './lease-clock.js'
export { connectSecondsDefault, releaseSecondsMax, replyGraceSeconds } from './limits.js'
export { nodeEnvironment } from './node-environment.js'
export {
  type AcquireRequest,
  type PendingAcquire,
  PendingRequests,
  type ReleaseRequest,
} from './pending-requests.js'
export { releaseUnconfirmed } from './release-lane.js'
export { Session, type SessionOutput } from './session.js'
export { connectionLost, type SessionEnd, type SessionEndKind } from './session-end.js'
export { leaseOver } from './ticket.js'
export { connectIn } from './ticket-broker.js'
