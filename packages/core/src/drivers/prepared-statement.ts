import { createHash } from 'node:crypto'
import type { SqlRow, SqlStatement } from '../dialects/dialect.js'
import type { NativePgClient } from './pg-client.js'

/** A statement of the fence with a name, which lets the server keep its plan instead of planning it anew each time. */
export interface NamedStatement extends SqlStatement {
  readonly name: string
}

const names = new Map<string, string>()

/** Gives a statement a name by its text. */
export function named(statement: SqlStatement): NamedStatement {
  let name = names.get(statement.text)
  if (name === undefined) {
    name = `ticketing_${createHash('sha256').update(statement.text).digest('base64url').slice(0, 16)}`
    names.set(statement.text, name)
  }
  return { ...statement, name }
}

/** The server does not know a prepared statement, or knows another one by its name: it was told to forget, or a pooler has changed it. */
export function isPreparedStatementLost(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === '26000' || code === '42P05'
}

/** A statement as node-postgres takes it. */
export interface PgStatement {
  readonly text: string
  readonly values: unknown[]
  readonly name?: string
}

/**
 * Runs the first statement of a transaction as a prepared one of its connection. Where the server has lost it, that has
 * aborted the transaction: it is begun anew, and the statement runs without a name.
 *
 * @param beginning - what began the transaction.
 * @param send - runs a statement on the client.
 */
export async function queryPrepared(
  client: NativePgClient,
  statement: SqlStatement,
  beginning: readonly string[],
  send: (statement: PgStatement) => Promise<{ readonly rows: readonly SqlRow[] }>,
): Promise<readonly SqlRow[]> {
  const { name, text, values } = named(statement)
  try {
    return (await send({ name, text, values: [...values] })).rows
  } catch (error) {
    if (!isPreparedStatementLost(error)) throw error
    // node-postgres notes what it has prepared; else it would trust its note the next time.
    delete client.connection?.parsedStatements?.[name]
    for (const step of ['ROLLBACK', ...beginning]) await send({ text: step, values: [] })
    return (await send({ text, values: [...values] })).rows
  }
}
