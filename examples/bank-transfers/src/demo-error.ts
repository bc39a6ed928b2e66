/** The run could not be carried out: what happened, what was not done, what to do next. Shown without a stack. */
export class DemoError extends Error {
  override readonly name = 'DemoError'
}

/** One line about any error. A refused connection to several addresses has its reasons inside. */
export function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describe).join('; ')
  return error instanceof Error ? error.message : String(error)
}

/** The stable code of an error, where it has one. */
export function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}
