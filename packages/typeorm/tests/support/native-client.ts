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
 * It stays on the client, so it is for clients that do not outlive the test.
 */
export function replaceStatements(client: NativeClient, instead: (text: string) => string | undefined): void {
  const query = client.query.bind(client)
  client.query = (config: unknown, ...rest: unknown[]) =>
    query((typeof config === 'string' ? instead(config) : undefined) ?? config, ...rest)
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
