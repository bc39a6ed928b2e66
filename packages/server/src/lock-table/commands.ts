/** Asks for a key (S1). An acquire frame of the wire is one. */
export interface AcquireCommand {
  /** Echoed in the reply; never compared with the holder's (S4). */
  readonly owner: string
  readonly key: string
  /** How long it may queue, in whole seconds; 0 is one immediate try. */
  readonly waitSeconds: number
  /** How long the grant holds, in whole seconds, from the moment it is handed out (S9). */
  readonly leaseSeconds: number
}

/** Gives a key back (S2). A release frame of the wire is one. */
export interface ReleaseCommand {
  readonly key: string
  /** Only the holder's exact token releases; any session may send it (S8). */
  readonly token: bigint
}
