import type { AcquireFrame, LeaderFrame, ReleaseFrame, ServerFrame } from '@ticketing/protocol'

/** The output of one session, as far as a mode needs it. */
export interface ReplySink {
  /** Puts a frame behind all that the session was sent before; `false` if the session is over and nothing was put. */
  send(frame: ServerFrame): boolean
}

/** What stands behind the sessions and decides: a lock table with or without a store. */
export interface ServingMode {
  /** Whether this server leads: the first frame that a session gets. */
  role(): LeaderFrame
  acquire(session: ReplySink, frame: AcquireFrame): void
  release(session: ReplySink, frame: ReleaseFrame): void
  /** Called once for each session, whatever ended it (S8). */
  sessionEnded(session: ReplySink): void
  /** Stops all timers; nothing is decided any more. */
  close(): void
}
