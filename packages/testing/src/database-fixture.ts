import { randomBytes } from 'node:crypto'
import pg from 'pg'

/** A PostgreSQL server that tests may make databases on. */
export interface DatabaseTarget {
  /** What test titles call it, such as `PostgreSQL 18 (embedded)`. */
  readonly name: string
  /** Connection string of one of its databases, with a role that may create databases. */
  readonly url: string
  /** Its major version. */
  readonly major: number
}

/** A fresh database. It is dropped when it is disposed of, whoever is still connected to it. */
export interface TestDatabase extends AsyncDisposable {
  readonly name: string
  /** Connection string with the target's role and options. */
  readonly url: string
}

const connectMillisecondsMax = 10_000

/**
 * Makes an empty database on the target, under a name nobody else uses.
 *
 * @throws the driver's error when the target cannot be reached or refuses.
 */
export async function createDatabase(target: Pick<DatabaseTarget, 'url'>): Promise<TestDatabase> {
  const name = `ticketing_test_${randomBytes(8).toString('hex')}`
  // template1 cannot be copied while anybody is connected to it, which a shared server cannot rule out.
  await withClient(target.url, (client) => client.query(`CREATE DATABASE ${name} TEMPLATE template0`))
  const url = new URL(target.url)
  url.pathname = `/${name}`
  return { name, url: url.href, [Symbol.asyncDispose]: () => dropDatabase(target.url, url.href, name) }
}

async function dropDatabase(serverUrl: string, url: string, name: string): Promise<void> {
  await withClient(serverUrl, async (server) => {
    // FORCE ends sessions, but a prepared transaction belongs to none and would block the drop for ever.
    const prepared = await server.query<{ gid: string }>('SELECT gid FROM pg_prepared_xacts WHERE database = $1', [
      name,
    ])
    if (prepared.rows.length > 0) {
      await withClient(url, async (client) => {
        for (const { gid } of prepared.rows) await client.query(`ROLLBACK PREPARED ${client.escapeLiteral(gid)}`)
      })
    }
    await server.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  })
}

/** Runs one piece of work on a connection of its own. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectMillisecondsMax })
  // A connection that dies while idle reports it here; without a listener the process would end. The next query fails.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
