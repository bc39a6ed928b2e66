import { setTimeout as delay } from 'node:timers/promises'
import type { Ticket } from '@ticketing/client'
import pg from 'pg'
import { expect } from 'vitest'
import { createDatabase, type DatabaseTarget, type TestDatabase } from '../database-fixture.js'
import { ScriptedBroker } from '../scripted-broker.js'
import type { ConformanceSubject, Handle, OpenSubject, SubjectOptions } from './subject.js'

const pollMilliseconds = 5
const untilMillisecondsMax = 5_000
const closeMillisecondsMax = 5_000

/** Times that no test runs into by accident. */
const times = { wait: 0, lease: 30, minWork: 0 } as const

export const withdraw = "UPDATE account SET balance = balance - 10 WHERE id = 'a'"

/** One adapter on one database at one isolation level, and two processes that use it: each has a pool of one connection. */
export class ConformanceWorld implements AsyncDisposable {
  readonly url: string
  readonly major: number
  readonly level: string
  readonly subject: ConformanceSubject
  readonly broker = new ScriptedBroker()
  /** Looks on from outside: takes part in no section. */
  readonly admin: pg.Pool
  readonly #database: TestDatabase
  readonly #open: OpenSubject[] = []
  one!: OpenSubject
  other!: OpenSubject
  #keys = 0

  private constructor(subject: ConformanceSubject, target: DatabaseTarget, database: TestDatabase, level: string) {
    this.subject = subject
    this.#database = database
    this.url = database.url
    this.major = target.major
    this.level = level
    this.admin = new pg.Pool({ connectionString: database.url, max: 3 })
    this.admin.on('error', () => undefined)
  }

  static async create(subject: ConformanceSubject, target: DatabaseTarget, level: string): Promise<ConformanceWorld> {
    const world = new ConformanceWorld(subject, target, await createDatabase(target), level)
    await world.admin.query(
      'CREATE TABLE account (id text PRIMARY KEY, balance integer NOT NULL); ' +
        'CREATE TABLE child (parent text REFERENCES account DEFERRABLE INITIALLY DEFERRED)',
    )
    world.one = await world.open()
    world.other = await world.open()
    await world.one.fence.migrate()
    return world
  }

  async reset(): Promise<void> {
    await this.admin.query("DELETE FROM child; DELETE FROM account; INSERT INTO account VALUES ('a', 100)")
    this.broker.leaseSeconds = undefined
    this.broker.onRelease = undefined
    this.broker.log.length = 0
  }

  /** One more process with a pool of its own. The world closes it. */
  async open(options: Partial<SubjectOptions> = {}): Promise<OpenSubject> {
    const opened = await this.subject.open({ url: this.url, connectionsMax: 1, broker: this.broker, ...options })
    this.#open.push(opened)
    return opened
  }

  /** A key that no other test uses. */
  key(): string {
    return `key-${++this.#keys}`
  }

  /** What a section of this world is run with. */
  options(more: object = {}): object {
    return { ...times, isolation: this.level, ...more }
  }

  /** A section of the first process. */
  run<R>(keys: string | readonly string[], work: (handle: Handle) => R, more: object = {}): Promise<Awaited<R>> {
    return this.one.fence.run(keys, this.options(more), work)
  }

  async balance(): Promise<number | undefined> {
    const { rows } = await this.admin.query<{ balance: number }>("SELECT balance FROM account WHERE id = 'a'")
    return rows[0]?.balance
  }

  async highWater(key: string): Promise<bigint | undefined> {
    const { rows } = await this.admin.query<{ token: string }>(
      'SELECT token::text FROM ticketing_fence WHERE lock_key = $1',
      [Buffer.from(key)],
    )
    return rows[0] === undefined ? undefined : BigInt(rows[0].token)
  }

  /**
   * Resolves once the query, run again and again, has a row.
   *
   * @throws {Error} where it has none for long.
   */
  async until(sql: string, values: unknown[] = []): Promise<void> {
    const deadline = performance.now() + untilMillisecondsMax
    while ((await this.admin.query(sql, values)).rowCount === 0) {
      if (performance.now() > deadline) expect.unreachable(`still nothing after ${untilMillisecondsMax} ms: ${sql}`)
      await delay(pollMilliseconds)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A section that a failed test left behind would hold its pool open for ever.
    await this.admin.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL ' +
        'AND pid <> pg_backend_pid()',
    )
    const closed = Promise.all(this.#open.map((opened) => opened.close().catch(() => undefined)))
    await Promise.race([closed, delay(closeMillisecondsMax, undefined, { ref: false })])
    await this.admin.end()
    await this.#database[Symbol.asyncDispose]()
  }
}

/** The error that a promise rejects with; where it resolves, that is the failure. */
export async function failureOf(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  const result: unknown = await promise.then(
    (value: unknown) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if (typeof result === 'object' && result !== null && 'error' in result) {
    return result.error as Error & Record<string, unknown>
  }
  return expect.unreachable('it was reported as a success and should have been refused')
}

/** A place that code reaches and waits at until the test lets it go on. */
export class Gate {
  readonly reached: Promise<void>
  open!: () => void
  #arrive!: () => void
  readonly #opened: Promise<void>

  constructor() {
    this.reached = new Promise((resolve) => {
      this.#arrive = resolve
    })
    this.#opened = new Promise((resolve) => {
      this.open = resolve
    })
  }

  async wait(): Promise<void> {
    this.#arrive()
    await this.#opened
  }
}

/** A ticket as another process might still hold one. */
export function ticketOf(key: string, token: bigint, remaining: () => number = () => 30): Ticket {
  return {
    key,
    token,
    signal: new AbortController().signal,
    remaining,
    release: async () => 'released',
    [Symbol.asyncDispose]: async () => undefined,
  }
}
