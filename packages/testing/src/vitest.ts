import { inject } from 'vitest'
import type { DatabaseTarget } from './database-fixture.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** The PostgreSQL servers that the global setup found or started. */
    ticketingDatabaseTargets: DatabaseTarget[]
  }
}

/**
 * The PostgreSQL servers to test with: the embedded one, and the given one where there is one. For `describe.each`.
 *
 * @throws {Error} in a run without the global setup `@ticketing/testing/vitest-global-setup`.
 */
export function databaseTargets(): readonly DatabaseTarget[] {
  const targets = inject('ticketingDatabaseTargets') as DatabaseTarget[] | undefined
  if (targets) return targets
  throw new Error(
    'No database target: this vitest project runs without the global setup "@ticketing/testing/vitest-global-setup". ' +
      'Name it under test.globalSetup in vitest.config.ts.',
  )
}
