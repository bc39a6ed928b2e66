// @ts-check
/**
 * Faults that the conformance suite must see: each takes one promise out of the fence. They are made in memory while a
 * source is loaded; no file is ever changed.
 */

/**
 * @typedef {object} Edit
 * @property {string} file relative to the repository
 * @property {string} find occurs exactly once in the file
 * @property {string} replace
 *
 * @typedef {object} Mutant
 * @property {string} name
 * @property {string} meaning
 * @property {readonly string[]} breaks the rules that must be seen to fail, as the tests' titles cite them
 * @property {readonly Edit[]} edits
 * @property {Readonly<Record<string, string>>} [exempt] adapters that do not promise what it takes away, and why; counts
 *   only while their suite skips a test of these rules
 */

const section = 'packages/core/src/fenced-section.ts'
const highWater = 'packages/core/src/high-water.ts'
const outcome = 'packages/core/src/commit-outcome.ts'
const postgres = 'packages/core/src/dialects/postgres.ts'

const claimStatement =
  'const claim = claimHighWater(tx, host.dialect, tables, tickets, Math.max(1, remainingMilliseconds(tickets))) // F1'

/** From the claim to the end of the work, as the section has it. */
const claimThenWork = `          ${claimStatement}
          // A claim on its way is answered, also past the lease: its refusal tells more, and the database bounds it (F4).
          const receipt = await interruption.orCancelled(claim)
          requireLease(tickets, 0)
          phase = 'working'
          const result = await runWork(context, tx, tickets, work, interruption.or)
`

const workThenClaim = `          await tx.query(host.dialect.identity())
          phase = 'working'
          const result = await runWork(context, tx, tickets, work, interruption.or)
          ${claimStatement}
          const receipt = await interruption.orCancelled(claim)
`

/** The claim in a transaction of its own, on another connection. The section's transaction begins without it. */
const claimElsewhere = `const rows = await tx.query({ text: 'SELECT pg_current_xact_id()::text AS identity', values: [] })
          const claim = host.transaction(
            {
              isolation: undefined,
              connecting: (connection) => connection,
              remainingMilliseconds: () => remainingMilliseconds(tickets),
              onConnectionDestroyed: () => undefined,
            },
            async (other) => {
              try {
                await claimHighWater(other, host.dialect, tables, tickets, Math.max(1, remainingMilliseconds(tickets)))
                return { claimed: tickets.keys.length, identity: host.dialect.readIdentity(rows) }
              } finally {
                await other.end()
              }
            },
          )`

/** @type {readonly Mutant[]} */
export const mutants = [
  {
    name: 'no-claim',
    meaning: 'claim left out',
    breaks: ['F1', 'F2'],
    edits: [
      // The bounds of the same statement stay.
      {
        file: postgres,
        find: 'INSERT INTO ${tables.fence} AS fence (lock_key, token, attempt, claimed_at) ` +',
        replace: ', claimed AS (` +',
      },
      {
        file: postgres,
        find: "'ON CONFLICT (lock_key) DO UPDATE SET previous_token = fence.token, previous_attempt = fence.attempt, ' +",
        replace: "') ' +",
      },
      {
        file: postgres,
        find: "'token = excluded.token, attempt = excluded.attempt, claimed_at = clock_timestamp() ' +",
        replace: '',
      },
      { file: postgres, find: "'WHERE fence.token < excluded.token ' +", replace: '' },
      {
        file: postgres,
        find: "'RETURNING pg_current_xact_id()::text AS identity, (SELECT resend::text FROM bounds) AS resend'",
        replace:
          "'SELECT pg_current_xact_id()::text AS identity, (SELECT resend::text FROM bounds) AS resend FROM claimed'",
      },
    ],
  },
  {
    name: 'equal-token',
    meaning: '<= for < in the comparison of tokens',
    breaks: ['F2'],
    edits: [
      {
        file: postgres,
        find: "'WHERE fence.token < excluded.token ' +",
        replace: "'WHERE fence.token <= excluded.token ' +",
      },
    ],
  },
  {
    name: 'claim-after-work',
    meaning: 'claim after the work',
    breaks: ['F1', 'F2'],
    edits: [{ file: section, find: claimThenWork, replace: workThenClaim }],
  },
  {
    name: 'read-before-claim',
    meaning: 'a read before the claim',
    breaks: ['F1'],
    edits: [
      {
        file: highWater,
        find: 'const rows = await tx.query(dialect.claim(tables, claims, freshAttempt(), bounds))',
        replace:
          'await tx.query(dialect.storedTokens(tables, tickets.keys))\n' +
          '  const rows = await tx.query(dialect.claim(tables, claims, freshAttempt(), bounds))',
      },
    ],
  },
  {
    name: 'early-release',
    meaning: 'release before COMMIT',
    breaks: ['F10', 'fault 16'],
    edits: [
      { file: section, find: 'tickets.release(reporter) // F10', replace: '// F10' },
      {
        file: section,
        find: "phase = 'committing'\n",
        replace: "phase = 'committing'\n          tickets.release(reporter)\n",
      },
    ],
  },
  {
    name: 'claim-elsewhere',
    meaning: 'a second connection, for the claim',
    breaks: ['F1'],
    edits: [{ file: section, find: claimStatement, replace: claimElsewhere }],
  },
  {
    name: 'work-elsewhere',
    meaning: 'a second connection, for the work',
    breaks: ['F1'],
    edits: [
      {
        file: 'packages/pg/src/pg-session.ts',
        find: 'return await this.#userQuery(readQuery(config, values, rest))',
        replace: 'return await otherPool.query(readQuery(config, values, rest))',
      },
      {
        file: 'packages/pg/src/pg-session.ts',
        find: '    this.#watch = new PgWatch(client)\n',
        replace: '    this.#watch = new PgWatch(client)\n    const otherPool = globalThis.ticketingMutantPool\n',
      },
      {
        file: 'packages/pg/src/pg-host.ts',
        find: 'const client = await checkOut(connectionsOf(this.pool), options)',
        replace:
          'const client = await checkOut(connectionsOf(this.pool), options)\n    globalThis.ticketingMutantPool = this.pool',
      },
      {
        file: 'packages/knex/src/knex-session.ts',
        find: "if (this.#transaction === undefined) throw new Error('The transaction has not begun.')\n    return this.#transaction",
        replace: 'return this.#knex',
      },
      {
        file: 'packages/typeorm/src/typeorm-session.ts',
        find: '    return this.#runner.manager\n',
        replace: '    return unguardedManager\n',
      },
      {
        file: 'packages/typeorm/src/typeorm-session.ts',
        find: '    this.#runner = runner\n',
        replace: '    this.#runner = runner\n    unguardedManager = dataSource.createQueryRunner().manager\n',
      },
      {
        file: 'packages/typeorm/src/typeorm-session.ts',
        find: 'const emptyResult =',
        replace: 'let unguardedManager\nconst emptyResult =',
      },
      {
        file: 'packages/prisma/src/prisma-host.ts',
        find: 'const { isolation } = options\n',
        replace: 'const { isolation } = options\n    globalThis.ticketingMutantClient = this.#client\n',
      },
      {
        file: 'packages/prisma/src/prisma-session.ts',
        find: 'this.handle = sectionClient(tx, () => this.verdict())',
        replace: 'this.handle = globalThis.ticketingMutantClient',
      },
    ],
  },
  {
    name: 'swallowed-abort',
    meaning: 'swallowed abort reported as success',
    breaks: ['fault 1'],
    edits: [
      {
        file: outcome,
        find: "if (state === 'aborted') throw transactionAborted(tx.firstError())",
        replace: "if (state === 'aborted') return",
      },
      {
        file: outcome,
        find: "if (host.dialect.errorMeaning(sqlState, fatal) === 'aborted') throw transactionAborted(tx.firstError() ?? error)",
        replace: "if (host.dialect.errorMeaning(sqlState, fatal) === 'aborted') return",
      },
      {
        file: 'packages/pg/src/pg-session.ts',
        find: "if (command !== 'COMMIT') throw",
        replace: 'if (command === "") throw',
      },
      {
        file: 'packages/knex/src/knex-session.ts',
        find: "if (this.#finish !== undefined && this.#watch.lastTag !== 'COMMIT')",
        replace: 'if (this.#finish === null)',
      },
      {
        file: 'packages/typeorm/src/typeorm-session.ts',
        find: 'if (!this.#committed) throw transactionAborted(this.#watch.firstError)',
        replace: '',
      },
      {
        file: 'packages/prisma/src/prisma-session.ts',
        find: "if (this.#wire !== undefined && this.#wire.watch.lastTag !== 'COMMIT') throw transactionAborted(this.firstError())",
        replace: '',
      },
    ],
  },
  {
    name: 'reused-connection',
    meaning: 'connection returned after a failed COMMIT',
    breaks: ['F13', 'fault 4'],
    exempt: { 'Prisma without fenceAdapter': 'Prisma returns the connection itself, out of the reach of the fence' },
    edits: [
      {
        file: 'packages/pg/src/pg-session.ts',
        find: 'const sound = error === undefined && this.#watch.idle && !this.#watch.lost',
        replace: 'const sound = this.#watch.idle && !this.#watch.lost',
      },
      {
        file: 'packages/knex/src/knex-session.ts',
        find: 'const sound = error === undefined && this.#watch.idle && !this.#watch.lost',
        replace: 'const sound = this.#watch.idle && !this.#watch.lost',
      },
      {
        // TypeORM reports the error before the server has said that the transaction is over.
        file: 'packages/typeorm/src/typeorm-session.ts',
        find: 'const sound = error === undefined && this.#watch.idle && !this.#watch.lost',
        replace: 'const sound = !this.#watch.lost',
      },
      {
        file: 'packages/prisma/src/guarded-transaction.ts',
        find: 'const sound = this.#failure === undefined && this.watch.idle && !this.watch.lost',
        replace: 'const sound = this.watch.idle && !this.watch.lost',
      },
    ],
  },
  {
    name: 'immortal-handle',
    meaning: 'handle alive after the end',
    breaks: ['F14', 'fault 3'],
    edits: [
      {
        file: 'packages/core/src/drivers/statement-refusal.ts',
        find: 'if (state.handleEnded) return handleEnded()\n',
        replace: '\n',
      },
    ],
  },
]
