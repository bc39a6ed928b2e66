import { invalidArgument } from '@ticketing/core'
import type { PgQueryConfig, PgResult, PgRow } from './pg-driver.js'

/** What a section's work runs its statements with: `query` of node-postgres in its promise form. */
export interface PgTransaction {
  /**
   * Runs one statement in the section's transaction.
   *
   * @throws {FenceError} `FENCE_HANDLE_ENDED` after the section's end, `FENCE_LEASE_EXPIRED` after its lease,
   *   `FENCE_TX_ENDED` once the work has ended the transaction, `FENCE_INVALID_ARGUMENT` for callbacks, query objects and COPY.
   * @throws the database's own error.
   */
  query<Row = PgRow>(text: string, values?: readonly unknown[]): Promise<PgResult<Row>>
  query<Row = PgRow>(config: PgQueryConfig): Promise<PgResult<Row>>
}

/** Reads the arguments of `query`; what the fence cannot follow to its end is refused before anything is sent. */
export function readQuery(config: unknown, values: unknown, rest: readonly unknown[]): PgQueryConfig {
  if ([values, ...rest].some((argument) => typeof argument === 'function')) {
    throw invalidArgument('query', 'takes no callback inside a section; await the promise it returns')
  }
  const given = typeof config === 'string' ? { text: config } : config
  if (typeof given !== 'object' || given === null) {
    throw invalidArgument('query', 'must be a text or an object with a text')
  }
  if (typeof (given as { submit?: unknown }).submit === 'function') {
    throw invalidArgument('query', 'takes no query object (such as a cursor) inside a section; pass a text and values')
  }
  if (values !== undefined && !Array.isArray(values)) throw invalidArgument('values', 'must be an array')
  const { text, values: ownValues } = given as PgQueryConfig
  // Named, since tagged templates of some libraries have them as accessors of their class, which a spread leaves out.
  const query = { ...(given as PgQueryConfig), text, values: (values as unknown[] | undefined) ?? ownValues }
  if (typeof query.text !== 'string' || query.text === '') throw invalidArgument('query', 'must have a text')
  if (isCopy(query.text)) {
    throw invalidArgument('query', 'COPY is not possible inside a section; use INSERT … SELECT FROM unnest($1)')
  }
  return query
}

function isCopy(text: string): boolean {
  // A comment must match in one way only, or a text with many of them would be tried in every grouping.
  return /^(?:\s|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*\*\/)*copy\b/i.test(text)
}
