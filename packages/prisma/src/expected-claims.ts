import type { GuardedTransaction } from './guarded-transaction.js'

/** Called with the driver's transaction in which an expected claim arrives. */
export type Bind = (transaction: GuardedTransaction) => void

// Once per process: the extension and the driver adapter may come from the ESM and the CommonJS copy of this package.
const registry = Symbol.for('@ticketing/prisma/claims@1')
const shared = globalThis as { [registry]?: Map<string, Bind> }
const expected = (shared[registry] ??= new Map<string, Bind>())

/**
 * Prisma does not tell which of the driver's transactions a transaction client belongs to. The claim does: no other
 * statement has its values, since each carries 16 bytes of its own.
 *
 * @returns a function that stops expecting it.
 */
export function expectClaim(values: readonly unknown[], bind: Bind): () => void {
  const id = JSON.stringify(values)
  expected.set(id, bind)
  return () => void expected.delete(id)
}

/** What expects a statement with these values. */
export function takeExpected(values: readonly unknown[]): Bind | undefined {
  return expected.size === 0 ? undefined : expected.get(JSON.stringify(values))
}
