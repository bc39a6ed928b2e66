import type { DatabaseErrorFacts } from '@ticketing/core'

/** The cause that a driver adapter gives to its errors. */
interface AdapterCause {
  readonly originalCode?: unknown
}

interface PrismaError {
  readonly code?: unknown
  readonly name?: unknown
  readonly severity?: unknown
  readonly cause?: unknown
  readonly meta?: { readonly driverAdapterError?: { readonly cause?: AdapterCause } }
}

/** PostgreSQL's own code for a transaction that ran into its bound. */
const transactionTimeout = '25P04'
const serialisationFailure = '40001'

/**
 * What an error of Prisma says. Its own codes come first where they tell more than the database's.
 *
 * An error of the driver adapter carries the SQLSTATE as `originalCode`, since the adapter sets it only for errors that
 * the server sent; one without it is a lost connection.
 */
export function describePrismaError(error: unknown): DatabaseErrorFacts {
  const { code, severity, name, cause, meta } = (error ?? {}) as PrismaError
  if (code === 'P2034') return { sqlState: serialisationFailure, fatal: false }
  // Prisma's own timeout of the transaction: it has rolled back, or will not commit.
  if (code === 'P2028') return { sqlState: transactionTimeout, fatal: false }
  const adapterCause = meta?.driverAdapterError?.cause ?? (name === 'DriverAdapterError' ? cause : undefined)
  const original = (adapterCause as AdapterCause | undefined)?.originalCode
  if (typeof original === 'string') return { sqlState: original, fatal: false }
  // With fenceAdapter the driver's own error may come through.
  const fromServer = typeof code === 'string' && typeof severity === 'string'
  return { sqlState: fromServer ? code : undefined, fatal: severity === 'FATAL' || severity === 'PANIC' }
}
