import { fenceSchema } from '@ticketing/core'
import type { Knex } from 'knex'

/** What a file of Knex's migrations exports. */
export interface FenceMigration {
  up(knex: Knex): Promise<void>
  down(knex: Knex): Promise<void>
}

/**
 * The fence's tables as a migration of Knex, in place of `fence.migrate()`: `export const { up, down } = fenceMigration()`.
 * `down` forgets which tokens were seen; take it only with the fence itself.
 *
 * @param table - the fence's `table` option.
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT` where it is no name of a table.
 */
export function fenceMigration(table?: string): FenceMigration {
  const { create, drop } = fenceSchema(table)
  return { up: (knex) => runAll(knex, create), down: (knex) => runAll(knex, drop) }
}

async function runAll(knex: Knex, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await knex.raw(statement)
}
