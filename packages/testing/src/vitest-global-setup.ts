import type { TestProject } from 'vitest/node'
import type { DatabaseTarget } from './database-fixture.js'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.js'
import { EmbeddedPostgresError } from './embedded-postgres-error.js'
import { findGivenPostgres, givenPostgresVariable } from './given-postgres.js'
import type {} from './vitest.js'

/**
 * Vitest's global setup: starts one embedded PostgreSQL for the run, looks for a given one, and provides both to
 * `databaseTargets`. What is missing is said on standard error. Returns the teardown.
 *
 * @throws {Error} when there is no server at all, or when the server named by `TICKETING_PG_URL` cannot be used.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [embedded, given] = await Promise.all([startUnlessUnsupported(), findGivenPostgres()])
  const targets: DatabaseTarget[] = []
  if (embedded) targets.push({ name: embedded.name, url: embedded.url, major: embedded.major })
  if (given.status === 'found') targets.push(given.target)
  else console.error(`No given PostgreSQL, so nothing is tested on it: ${given.reason}`)

  if (targets.length === 0 || (given.status === 'missing' && given.requested)) {
    await embedded?.stop()
    throw new Error(
      'The tests were not run: there is no PostgreSQL to run them on. ' +
        `Start one, and name it in ${givenPostgresVariable} if it is not at 127.0.0.1:5432 for the role postgres.` +
        (given.status === 'missing' ? ` ${given.reason}` : ''),
    )
  }
  project.provide('ticketingDatabaseTargets', targets)
  return async () => embedded?.stop()
}

async function startUnlessUnsupported(): Promise<EmbeddedPostgres | undefined> {
  try {
    return await startEmbeddedPostgres()
  } catch (error) {
    if (!(error instanceof EmbeddedPostgresError) || error.code !== 'UNSUPPORTED_PLATFORM') throw error
    console.error(error.message)
    return undefined
  }
}
