import type pg from 'pg'

interface TableDump {
  readonly columns: readonly string[]
  readonly constraints: readonly string[]
}

/** Columns, with type and nullability, and constraints of the tables whose names match, as the catalogs state them. */
export async function dumpTables(pool: pg.Pool, schema: string, names: readonly string[]) {
  const dump: Record<string, TableDump> = {}
  for (const name of names) {
    const columns = await pool.query<{ line: string }>(
      `SELECT a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
         || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') AS line
       FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
       WHERE a.attrelid = format('%I.%I', $1::text, $2::text)::regclass AND a.attnum > 0 AND NOT a.attisdropped
       ORDER BY a.attnum`,
      [schema, name],
    )
    // PostgreSQL 18 lists NOT NULL among the constraints as well; it stands with the columns.
    const constraints = await pool.query<{ line: string }>(
      `SELECT conname || ' ' || pg_get_constraintdef(oid) AS line FROM pg_constraint
       WHERE conrelid = format('%I.%I', $1::text, $2::text)::regclass AND contype <> 'n' ORDER BY conname`,
      [schema, name],
    )
    dump[name] = {
      columns: columns.rows.map(({ line }) => line),
      constraints: constraints.rows.map(({ line }) => line),
    }
  }
  return dump
}
