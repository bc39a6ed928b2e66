import type { NativePgClient } from '@ticketing/core/pg-driver'

type Query = (...args: unknown[]) => unknown

/**
 * A native client as one section's runner sees it: the same client, but with a `query` method of its own. What is set
 * here never shows on the client itself, so that a runner which keeps this one is shut out for ever, also when the
 * client already serves somebody else (F14).
 */
export function sectionClient(native: NativePgClient): NativePgClient {
  let query: Query = (...args) => native.query(...args)
  return new Proxy(native, {
    get(target, name) {
      if (name === 'query') return query
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
    set(target, name, value) {
      if (name !== 'query') return Reflect.set(target, name, value, target)
      query = value as Query
      return true
    },
  })
}

/** Whether it is a query object with a protocol of its own, such as a stream; node-postgres returns it, not a promise. */
export function isSubmittable(query: unknown): boolean {
  return typeof (query as { submit?: unknown } | null | undefined)?.submit === 'function'
}
