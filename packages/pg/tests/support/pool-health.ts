import type pg from 'pg'
import { expect } from 'vitest'
import { until } from './server-view.js'
import type { TestBed } from './test-bed.js'

/** Nothing of a section is left: every connection is back in its pool, none is in a transaction, and the pool serves. */
export async function expectHealthy(bed: TestBed, pool: pg.Pool): Promise<void> {
  expect({ idle: pool.idleCount, waiting: pool.waitingCount }).toEqual({ idle: pool.totalCount, waiting: 0 })
  await untilNoTransaction(bed)
  const { rows } = await pool.query('SELECT pg_current_xact_id_if_assigned() AS xact')
  expect(rows).toEqual([{ xact: null }])
}

/** Waits until no backend of this database is in a transaction; one whose connection was destroyed ends a little later. */
export async function untilNoTransaction(bed: TestBed): Promise<void> {
  await until('the end of every transaction', async () => {
    const { rows } = await bed.admin.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL`,
    )
    return rows[0]?.n === 0
  })
}

/** Ends a backend as an administrator or a fail-over would, and waits until it is gone. */
export async function killBackend(bed: TestBed, pid: number): Promise<void> {
  await bed.admin.query('SELECT pg_terminate_backend($1)', [pid])
  await until(`the end of backend ${pid}`, async () => {
    const { rowCount } = await bed.admin.query('SELECT FROM pg_stat_activity WHERE pid = $1', [pid])
    return rowCount === 0
  })
}
