import type { Broker, Duration, Ticket } from '@ticketing/client'
import { pgFence } from '@ticketing/pg'
import type pg from 'pg'
import { type Statements, schema } from './transfer.js'

/** The critical work of one section, with the token of each of its keys. */
export type Work = (tx: Statements, tokenOf: (key: string) => bigint) => Promise<void>

/** Runs one piece of critical work under its keys. */
export type Section = (keys: readonly string[], work: Work) => Promise<void>

export interface SectionTimes {
  readonly wait: Duration
  readonly lease: Duration
  readonly minWork: Duration
}

/** The fence's own table lies in the demo's schema. */
export const fenceTable = `${schema}.ticketing_fence`

/** Sections as they should be: the database itself refuses a holder whose lease is over. */
export function fencedSections(pool: pg.Pool, broker: Broker, times: SectionTimes): Section {
  const fence = pgFence(pool, { broker, table: fenceTable, defaults: times })
  return async (keys, work) => {
    await fence.run(keys, (tx, ticket) => work(tx, (key) => ticket.tokenOf(key) as bigint))
  }
}

/**
 * Sections as they are often written: take the lock, run a transaction, give the lock back. It looks right, and it is
 * right until a holder stops for longer than its lease. `--unfenced` shows what happens then.
 */
export function lockOnlySections(pool: pg.Pool, broker: Broker, times: SectionTimes): Section {
  return async (keys, work) => {
    const tickets = new Map<string, Ticket>()
    try {
      for (const key of [...keys].sort()) tickets.set(key, await broker.acquire(key, times))
      await inTransaction(pool, (tx) => work(tx, (key) => tickets.get(key)?.token as bigint))
    } finally {
      for (const ticket of tickets.values()) await ticket[Symbol.asyncDispose]()
    }
  }
}

async function inTransaction(pool: pg.Pool, work: (tx: Statements) => Promise<void>): Promise<void> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('BEGIN')
    await work({ query: (text, values) => client.query(text, [...values]) as never })
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch((failure: Error) => {
      broken = failure
    })
    throw error
  } finally {
    client.release(broken)
  }
}
