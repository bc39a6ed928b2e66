/** What this adapter calls of Prisma Client, described structurally: any generated client fits. */

/** What the work's client and a caller's own transaction have in common. */
export interface PrismaTransactionClient {
  $queryRawUnsafe(query: string, ...values: unknown[]): PromiseLike<unknown>
}

export interface PrismaTransactionOptions {
  /** Milliseconds to wait for a connection. */
  readonly maxWait: number
  /** Milliseconds after which Prisma itself rolls back. */
  readonly timeout: number
  readonly isolationLevel?: 'ReadCommitted' | 'RepeatableRead' | 'Serializable'
}

export interface PrismaClientLike extends PrismaTransactionClient {
  $transaction(
    work: (tx: PrismaTransactionClient) => Promise<void>,
    options: PrismaTransactionOptions,
  ): PromiseLike<unknown>
}

/** Prisma's mark on the client of an interactive transaction. */
const scopeContext = Symbol.for('prisma.client.transaction.scope_context')

interface TransactionScope {
  readonly txId?: unknown
  readonly scopeState?: { readonly stack?: readonly unknown[] }
}

function scopeOf(client: object): TransactionScope | undefined {
  return (client as { [scopeContext]?: TransactionScope })[scopeContext]
}

/** The same before transactions could be nested: the transaction's name alone. */
const transactionName = Symbol.for('prisma.client.transaction.id')

/** Prisma's name for the transaction of a transaction client; undefined for a client that is not in one. */
export function transactionId(client: object): unknown {
  return scopeOf(client)?.txId ?? (client as { [transactionName]?: unknown })[transactionName]
}

/** Whether the client belongs to a transaction inside another one, which is a savepoint. */
export function isNested(tx: object): boolean {
  return (scopeOf(tx)?.scopeState?.stack?.length ?? 0) > 1
}

/** The client that all extended ones of it share, with its connections. */
export function rootOf(client: object): object {
  return (client as { _originalClient?: object })._originalClient ?? client
}
