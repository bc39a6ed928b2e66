// @ts-check
/**
 * @import { AcquireOptions, Broker } from '@ticketing/client'
 * @import { Pool } from 'pg'
 * @import { Sections } from './job-queue.mjs'
 */

/**
 * Sections as they are often written: take the lock, run a transaction, give the lock back. It looks right, and it is
 * right until a holder stalls for longer than its lease. Do not copy it.
 *
 * @param {Pool} pool
 * @param {Broker} broker
 * @param {AcquireOptions} times
 * @returns {Sections}
 */
export function lockOnly(pool, broker, times) {
  return {
    run: async (key, options, work) => {
      const ticket = await broker.acquire(key, { ...times, ...options })
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        const result = await work({ query: (text, values) => client.query(text, values) })
        await client.query('COMMIT')
        return result
      } catch (error) {
        await client.query('ROLLBACK').catch(() => {})
        throw error
      } finally {
        client.release()
        await ticket[Symbol.asyncDispose]()
      }
    },
  }
}
