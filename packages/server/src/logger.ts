/**
 * Where a server reports what happens beside its replies. A pino logger is one. Neither secrets nor keys are ever passed
 * to it.
 */
export interface Logger {
  info(fields: Readonly<Record<string, unknown>>, message: string): void
  warn(fields: Readonly<Record<string, unknown>>, message: string): void
  error(fields: Readonly<Record<string, unknown>>, message: string): void
}

/** Drops everything: a library says nothing unless it is asked to. */
export const silentLogger: Logger = { info() {}, warn() {}, error() {} }
