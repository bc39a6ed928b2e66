import type { DatabaseErrorFacts } from '../transaction-host.js'

/** What an error of node-postgres says. Only errors that the server sent carry a SQLSTATE; a socket's EPIPE has five letters too. */
export function describePgError(error: unknown): DatabaseErrorFacts {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  const fromServer = typeof code === 'string' && typeof severity === 'string'
  return { sqlState: fromServer ? code : undefined, fatal: severity === 'FATAL' || severity === 'PANIC' }
}
