/**
 * The frames of wire format version 2. An `owner` is a string of 16 characters U+0000–U+00FF, one for each byte, so that
 * it serves as a map key without a copy.
 */

/** `A` from a client: take the key for a lease, queue for at most `waitSeconds`. */
export interface AcquireFrame {
  readonly type: 'acquire'
  readonly waitSeconds: number
  readonly leaseSeconds: number
  readonly owner: string
  readonly key: string
}

/** `R` from a client: release exactly this grant. */
export interface ReleaseFrame {
  readonly type: 'release'
  readonly token: bigint
  readonly key: string
}

/** A bare newline from a client; answered by a pong in stream order. */
export interface PingFrame {
  readonly type: 'ping'
}

export type ClientFrame = AcquireFrame | ReleaseFrame | PingFrame

/** `A` from the server: the acquire of this owner holds the key. */
export interface GrantedFrame {
  readonly type: 'granted'
  readonly token: bigint
  readonly owner: string
  readonly key: string
}

/** `T`: the wait of this owner's acquire ended without a grant. */
export interface NotInTimeFrame {
  readonly type: 'not-in-time'
  readonly owner: string
  readonly key: string
}

/** `B`: refused for capacity, at once and for good. */
export interface BusyFrame {
  readonly type: 'busy'
  readonly owner: string
  readonly key: string
}

/** `R` from the server: the grant with this token is released. */
export interface ReleasedFrame {
  readonly type: 'released'
  readonly token: bigint
  readonly key: string
}

/** `N`: nothing was released; the key is not held, or not with this token. */
export interface NotCurrentFrame {
  readonly type: 'not-current'
  readonly token: bigint
  readonly key: string
}

/** `M`: another server leads; the session closes behind it. */
export interface MovedFrame {
  readonly type: 'moved'
  readonly address: string
}

/** `L`: whether this server leads, and the leader's client address if it is known. No reply to anything. */
export interface LeaderFrame {
  readonly type: 'leader'
  readonly leads: boolean
  readonly address: string | undefined
}

/** `E`: the session closes behind it. */
export interface ErrorFrame {
  readonly type: 'error'
  /** One of {@link ErrorReason}, or a word that a newer server sends. */
  readonly reason: string
}

/** A bare newline from the server, in stream order: everything written before it was handed out before it. */
export interface PongFrame {
  readonly type: 'pong'
}

export type ServerFrame =
  | GrantedFrame
  | NotInTimeFrame
  | BusyFrame
  | ReleasedFrame
  | NotCurrentFrame
  | MovedFrame
  | LeaderFrame
  | ErrorFrame
  | PongFrame

export type Frame = ClientFrame | ServerFrame

/** The reasons of an `E` frame that this version knows. */
export const errorReasons = [
  'auth_failed',
  'no_leader',
  'not_active',
  'bad_request',
  'too_many_sessions',
  'shutting_down',
  'idle',
] as const

export type ErrorReason = (typeof errorReasons)[number]
