import type { TicketBroker } from '@ticketing/client'

/** The same work in one library's own idiom: BEGIN, UPDATE of the worker's row, COMMIT. */
export interface Library extends AsyncDisposable {
  readonly name: string
  /** Unfenced, in the library's own transaction, behind another statement where there is one. */
  transaction(worker: number, before?: Before): Promise<unknown>
  /** A section with its lock. */
  fenced(worker: number): Promise<unknown>
}

/** A statement that locks: its one parameter is the worker's number, here written out by the library. */
export type Before = (parameter: string) => string

export interface LibrarySettings {
  readonly url: string
  readonly connectionsMax: number
  readonly broker: TicketBroker
}

export const fenceTable = 'bench_fence'
export const defaults = { wait: 5, lease: 30, minWork: 2 } as const

export const update = (parameter: string) => `UPDATE bench_account SET balance = balance + 1 WHERE id = ${parameter}`
export const forUpdate: Before = (parameter) =>
  `SELECT balance FROM bench_account WHERE id = ${parameter}::integer FOR UPDATE`
export const advisoryLock: Before = (parameter) => `SELECT pg_advisory_xact_lock(${parameter}::bigint)::text`
export const keyOf = (worker: number) => `bench:${worker}`
