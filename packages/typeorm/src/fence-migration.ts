import { fenceSchema } from '@ticketing/core'
import type { MigrationInterface, QueryRunner } from 'typeorm'

/**
 * Creates the fence's tables in an application's own migrations. For another table than `ticketing_fence`, extend it and
 * override `table`. Reverting it drops the tables, and with them every high-water: do that only while no section runs.
 */
export class FenceMigration implements MigrationInterface {
  readonly name: string = 'TicketingFence1764547200000'
  /** `table` or `schema.table`; the default of `typeormFence` without one. */
  readonly table: string | undefined = undefined

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of fenceSchema(this.table).create) await queryRunner.query(statement)
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of fenceSchema(this.table).drop) await queryRunner.query(statement)
  }
}
