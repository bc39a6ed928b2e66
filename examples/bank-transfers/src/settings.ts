import type { SectionTimes } from './sections.js'

/** What every process of a run has to know. */
export interface RunSettings {
  readonly databaseUrl: string
  readonly servers: readonly string[]
  /** One of the server's client tokens; empty for a server without any. */
  readonly clientToken: string
  readonly fenced: boolean
  readonly workers: number
  readonly accounts: number
  readonly seed: number
}

/**
 * A worker's lease is longer than a stall: while it waits for one account behind a stopped holder, the ticket of its
 * other account is running already.
 */
export const workerTimes: SectionTimes = { wait: '30s', lease: '10s', minWork: '1s' }

/** Seconds. The holders that are stopped: the shorter their lease, the sooner others take over. */
export const stallLeaseSeconds = 2

/** A stall holder starts its work with any rest of its lease. */
export const stallTimes: SectionTimes = { wait: '30s', lease: stallLeaseSeconds, minWork: 0 }
