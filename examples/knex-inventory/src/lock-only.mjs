// @ts-check
/**
 * @import { AcquireOptions, Broker } from '@ticketing/client'
 * @import { Knex } from 'knex'
 * @import { Sections } from './inventory.mjs'
 */

/**
 * Sections as they are often written: take the lock, run a transaction, give the lock back. It looks right, and it is
 * right until a holder stalls for longer than its lease. Do not copy it.
 *
 * @param {Knex} knex
 * @param {Broker} broker
 * @param {AcquireOptions} times
 * @returns {Sections}
 */
export function lockOnly(knex, broker, times) {
  return {
    run: async (key, work) => {
      const ticket = await broker.acquire(key, times)
      try {
        return await knex.transaction(work)
      } finally {
        await ticket[Symbol.asyncDispose]()
      }
    },
  }
}
