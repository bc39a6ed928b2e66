import { type TestDatabase } from '@ticketing/testing'
import pg from 'pg'
import type { DataSource } from 'typeorm'

export interface NativeClient {
  query(...args: unknown[]): unknown
  readonly connection: { readonly stream: { destroy(): void } }
}

type Pool = pg.Pool & { connect(): Promise<NativeClient & { release(): void }> }

/** TypeORM's own pool. */
export function poolOf(dataSource: DataSource): Pool {
  return (dataSource.driver as unknown as { master: Pool }).master
}

/** The one connection of a pool of one. */
export async function onlyClient(dataSource: DataSource): Promise<NativeClient> {
  const client = await poolOf(dataSource).connect()
  client.release()
  return client
}

/**
 * Sends `instead(text)` for each statement of a client whose text it answers; what it does besides, it does before.
 *
 * @returns what gives the client its own method back.
 */
export function replaceStatements(client: NativeClient, instead: (text: string) => string | undefined): () => void {
  const { query } = client
  client.query = (given: unknown, ...rest: unknown[]) => query.call(client, instead(textOf(given)) ?? given, ...rest)
  return () => {
    client.query = query
  }
}

/** The text of what `query` is given: a text, or an object with one. */
export function textOf(query: unknown): string {
  return typeof query === 'string' ? query : ((query as { text?: string } | undefined)?.text ?? '')
}

/** Ends a server process as an administrator would, and returns once it is gone. */
export async function killBackend(database: TestDatabase, pid: number): Promise<void> {
  const admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  try {
    await admin.query('SELECT pg_terminate_backend($1, 5000)', [pid])
  } finally {
    await admin.end()
  }
}
