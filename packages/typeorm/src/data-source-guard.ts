import { FenceError, sectionInForce } from '@ticketing/core'
import type { DataSource, QueryRunner } from 'typeorm'
import { type PostgresDriver, postgresDriverOf } from './typeorm-driver.js'

/** A guarded DataSource's own ways to its pool, for the sections themselves. */
export interface UnguardedDataSource {
  readonly createQueryRunner: () => QueryRunner
  readonly obtainMasterConnection: PostgresDriver['obtainMasterConnection']
  /** The pool of node-postgres; before it exists, the driver. */
  readonly pool: () => object
  /** It was connected once and is no longer. */
  readonly destroyed: () => boolean
}

// The ESM and the CommonJS copy of this package share one guard for each DataSource.
const guardKey = Symbol.for('@ticketing/typeorm/guard@1')

/**
 * Refuses, from now on, the connections that a DataSource hands out inside a section on its own pool: a statement on one
 * of them is outside the section's transaction, and waits for ever where the pool has no other connection.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT` where it is no DataSource on PostgreSQL.
 */
export function guardDataSource(dataSource: DataSource): UnguardedDataSource {
  const guarded = dataSource as DataSource & { [guardKey]?: UnguardedDataSource }
  const driver = postgresDriverOf(dataSource)
  const present = guarded[guardKey]
  if (present !== undefined) return present

  const createQueryRunner = dataSource.createQueryRunner.bind(dataSource)
  const obtainMasterConnection = driver.obtainMasterConnection.bind(driver)
  const obtainSlaveConnection = driver.obtainSlaveConnection.bind(driver)
  let connected = dataSource.isInitialized
  const pool = () => driver.master ?? driver
  const unguarded: UnguardedDataSource = {
    createQueryRunner: () => createQueryRunner('master'),
    obtainMasterConnection,
    pool,
    destroyed: () => connected && !dataSource.isInitialized && driver.master === undefined,
  }
  dataSource.createQueryRunner = (mode) => {
    refuseInside(pool())
    return createQueryRunner(mode)
  }
  // A runner that was made before the section takes its connection here.
  Object.assign(driver, {
    async obtainMasterConnection() {
      refuseInside(pool())
      connected = true
      return await obtainMasterConnection()
    },
    async obtainSlaveConnection() {
      refuseInside(pool())
      return await obtainSlaveConnection()
    },
  })
  Object.defineProperty(dataSource, guardKey, { value: unguarded })
  return unguarded
}

/** @throws {FenceError} `FENCE_OUTSIDE_SECTION`. */
function refuseInside(pool: object): void {
  if (sectionInForce(pool) === undefined) return
  throw new FenceError(
    'FENCE_OUTSIDE_SECTION',
    'not-executed',
    "The DataSource's own connections were used inside a section: the statement would run outside its transaction, and " +
      'wait for ever where the pool has no free connection. It was not sent. Use the manager that the section hands to ' +
      'its work, fencedManager() or fencedRepository(Entity); what does not belong to the section, wrap in ' +
      'fence.outside(() => …).',
  )
}
