import { type DatabaseTarget, withClient } from './database-fixture.js'

/** The environment variable that names a PostgreSQL to test with. */
export const givenPostgresVariable = 'TICKETING_PG_URL'

const defaultUrl = 'postgresql://postgres@127.0.0.1:5432/postgres'

/** The PostgreSQL that the machine offers for tests, or why there is none. */
export type GivenPostgres =
  | { readonly status: 'found'; readonly target: DatabaseTarget }
  | {
      readonly status: 'missing'
      /** Whether somebody asked for it by name: then its absence is a mistake, not a circumstance. */
      readonly requested: boolean
      readonly reason: string
    }

/**
 * Looks for the server that `TICKETING_PG_URL` names, or for one at 127.0.0.1:5432 that lets `postgres` in without a
 * password. Never throws: what cannot be reached is reported as missing.
 */
export async function findGivenPostgres(environment: NodeJS.ProcessEnv = process.env): Promise<GivenPostgres> {
  const requestedUrl = environment[givenPostgresVariable]
  const url = requestedUrl || defaultUrl
  try {
    const version = await withClient(url, async (client) => {
      const result = await client.query<{ version: string }>("SELECT current_setting('server_version_num') AS version")
      return Number(result.rows[0]?.version)
    })
    const major = Math.floor(version / 10_000)
    return { status: 'found', target: { name: `PostgreSQL ${major} (given)`, url, major } }
  } catch (error) {
    const place = requestedUrl
      ? `the server of ${givenPostgresVariable}`
      : '127.0.0.1:5432 (role postgres, no password)'
    return { status: 'missing', requested: Boolean(requestedUrl), reason: `${place}: ${describe(error)}` }
  }
}

/** A refused connection to several addresses has an empty message and the reasons inside. */
function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describe).join('; ')
  return error instanceof Error ? error.message : String(error)
}
