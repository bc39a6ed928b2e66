import {
  type CallerTransaction,
  type DatabaseErrorFacts,
  type HostTransaction,
  type HostTransactionOptions,
  type IsolationLevel,
  invalidArgument,
  postgres,
  type SqlRow,
  type TransactionHost,
} from '@ticketing/core'
import {
  isNested,
  type PrismaClientLike,
  type PrismaTransactionClient,
  type PrismaTransactionOptions,
  rootOf,
} from './prisma-client.js'
import { describePrismaError } from './prisma-error.js'
import type { PrismaSessionSettings } from './prisma-session.js'
import { type OpenSessions, TransactionCall } from './transaction-call.js'

/** For what has no lease, such as a migration. Prisma wants a number. */
const unboundedMilliseconds = 600_000

/** The section ends at its lease; Prisma's own timeouts stand behind that, with time for an answer to COMMIT. */
const afterLeaseMilliseconds = 5_000

const isolationLevels = {
  'read committed': 'ReadCommitted',
  'repeatable read': 'RepeatableRead',
  serializable: 'Serializable',
} as const satisfies Record<IsolationLevel, PrismaTransactionOptions['isolationLevel']>

/** Runs a section's transaction as an interactive transaction of Prisma Client. */
export class PrismaHost implements TransactionHost<PrismaTransactionClient> {
  readonly dialect = postgres
  readonly pool: object
  readonly #client: PrismaClientLike
  readonly #sessions: OpenSessions
  readonly #settings: PrismaSessionSettings

  constructor(client: PrismaClientLike, sessions: OpenSessions, settings: PrismaSessionSettings) {
    this.#settings = settings
    this.#client = client
    this.#sessions = sessions
    this.pool = rootOf(client)
  }

  async transaction<R>(
    options: HostTransactionOptions,
    body: (tx: HostTransaction<PrismaTransactionClient>) => Promise<R>,
  ): Promise<R> {
    const call = new TransactionCall(options, this.#settings, body, this.#sessions)
    const left = options.remainingMilliseconds?.() ?? unboundedMilliseconds
    const { isolation } = options
    const inPrisma = this.#client.$transaction((tx) => call.run(tx), {
      maxWait: Math.max(1, left) + afterLeaseMilliseconds,
      timeout: Math.max(1, left) + afterLeaseMilliseconds,
      ...(isolation === undefined ? {} : { isolationLevel: isolationLevels[isolation] }),
    })
    return await call.settle(Promise.resolve(inPrisma))
  }

  async adopt(tx: PrismaTransactionClient): Promise<CallerTransaction> {
    if (typeof (tx as Partial<PrismaTransactionClient> | undefined)?.$queryRawUnsafe !== 'function') {
      throw invalidArgument('transaction', 'must be the client of an interactive transaction of Prisma')
    }
    if (isNested(tx)) {
      throw invalidArgument('transaction', 'is nested in another one; the claim belongs to the top-level transaction')
    }
    return {
      state: 'unsure',
      query: async ({ text, values }) => (await tx.$queryRawUnsafe(text, ...values)) as SqlRow[],
    }
  }

  describeError(error: unknown): DatabaseErrorFacts {
    return describePrismaError(error)
  }
}
