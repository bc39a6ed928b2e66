import { type Broker, TicketBroker } from '@ticketing/client'
import pg from 'pg'
import { fencedSections, lockOnlySections, type Section, type SectionTimes } from './sections.js'
import type { RunSettings } from './settings.js'

/** What a process works with: one pool and one broker, shared by all its sections. */
export interface Surroundings extends AsyncDisposable {
  readonly pool: pg.Pool
  readonly broker: TicketBroker
}

/** Connects a process to the database and the lock service. */
export function openSurroundings(settings: RunSettings, connections: number): Surroundings {
  const pool = new pg.Pool({ connectionString: settings.databaseUrl, max: connections })
  // A connection that breaks while it is idle reports it here; without a listener the process would end.
  pool.on('error', () => {})
  const broker = TicketBroker.connect(settings.servers, { token: settings.clientToken })
  const close = async () => {
    await broker.close()
    await pool.end()
  }
  return { pool, broker, [Symbol.asyncDispose]: close }
}

/** Sections with the fence, or with the lock alone. */
export function sectionsFor(settings: RunSettings, pool: pg.Pool, broker: Broker, times: SectionTimes): Section {
  return settings.fenced ? fencedSections(pool, broker, times) : lockOnlySections(pool, broker, times)
}
