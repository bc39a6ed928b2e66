import type { Dialect } from './dialects/dialect.js'
import { postgres } from './dialects/postgres.js'
import { defaultTable } from './section-options.js'

/** The statements that make the fence's tables and that remove them, for a migration tool; none has parameters. */
export interface FenceSchema {
  readonly create: readonly string[]
  readonly drop: readonly string[]
}

/**
 * What `migrate()` would run, for those who have their own migrations.
 *
 * @param table - `table` or `schema.table`; default `ticketing_fence`.
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT` where it is no name of a table.
 */
export function fenceSchema(table: string = defaultTable, dialect: Dialect = postgres): FenceSchema {
  const tables = dialect.tables(table)
  const texts = (statements: readonly { readonly text: string }[]) => statements.map(({ text }) => text)
  return { create: texts(dialect.migration.create(tables)), drop: texts(dialect.migration.drop(tables)) }
}

/** The same as the text of an SQL script that creates the tables. */
export function fenceSchemaSql(table?: string): string {
  return fenceSchema(table)
    .create.map((statement) => `${statement};\n`)
    .join('')
}
