import { randomBytes } from 'node:crypto'
import type { Broker } from '@ticketing/client'
import { createDatabase, type DatabaseTarget, type TestDatabase } from '@ticketing/testing'
import pg from 'pg'
import { type PgFence, type PgFenceOptions, pgFence } from '../../src/index.js'

/** A row of a fence's table, every column as text. */
export interface FenceRow {
  readonly token: string
  readonly attempt: string
  readonly previousToken: string | null
  readonly previousAttempt: string | null
  readonly claimedAt: string
}

/** A database of its own with an `account` table, and the pools that a test opens on it. */
export class TestBed implements AsyncDisposable {
  readonly url: string
  /** Looks on from outside: takes part in no section. */
  readonly admin: pg.Pool
  readonly #database: TestDatabase
  readonly #pools: pg.Pool[] = []
  readonly #clients: pg.Client[] = []
  readonly #roles: string[] = []

  private constructor(database: TestDatabase) {
    this.#database = database
    this.url = database.url
    this.admin = this.pool({ max: 4 })
  }

  static async create(target: DatabaseTarget, options: { migrated?: boolean } = {}): Promise<TestBed> {
    const bed = new TestBed(await createDatabase(target))
    await bed.admin.query('CREATE TABLE account (id text PRIMARY KEY, balance bigint NOT NULL)')
    if (options.migrated ?? true) await pgFence(bed.admin, { broker: noBroker }).migrate()
    return bed
  }

  /** A pool that is ended with the bed. A section that kept its connection would hold the bed up for ever. */
  pool(config: pg.PoolConfig = {}): pg.Pool {
    const pool = new pg.Pool({ connectionString: this.url, ...config })
    // A connection that ends while idle reports it here; without a listener the process would end.
    pool.on('error', () => undefined)
    this.#pools.push(pool)
    return pool
  }

  /** A connection of somebody else's, to lock rows with. The bed ends it, whatever it still holds. */
  async client(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.url })
    client.on('error', () => undefined)
    await client.connect()
    this.#clients.push(client)
    return client
  }

  /** A fence on a pool of its own, with times that no test runs into by accident. */
  fence(
    broker: Broker,
    options: Omit<PgFenceOptions, 'broker' | 'defaults'> = {},
    pool = this.pool(),
  ): PgFence<{ wait: 0; lease: 20; minWork: 0 }> {
    return pgFence(pool, { ...options, broker, defaults: { wait: 0, lease: 20, minWork: 0 } })
  }

  /** A setting that every later connection to this database begins with. */
  async setDefault(setting: string, value: string): Promise<void> {
    await this.admin.query(`ALTER DATABASE ${this.#database.name} SET ${setting} = '${value}'`)
  }

  /** A role that may do with the tables what a section needs, and nothing else. */
  async role(): Promise<{ name: string; url: string }> {
    const name = `ticketing_test_${randomBytes(8).toString('hex')}`
    const password = randomBytes(8).toString('hex')
    await this.admin.query(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'`)
    this.#roles.push(name)
    await this.admin.query(
      `GRANT SELECT, INSERT, UPDATE ON ticketing_fence, account TO ${name}; GRANT SELECT ON ticketing_fence_floor TO ${name}`,
    )
    const url = new URL(this.url)
    url.username = name
    url.password = password
    return { name, url: url.href }
  }

  async balance(id: string): Promise<string | undefined> {
    const { rows } = await this.admin.query<{ balance: string }>('SELECT balance FROM account WHERE id = $1', [id])
    return rows[0]?.balance
  }

  async fenceRow(key: string, table = 'ticketing_fence'): Promise<FenceRow | undefined> {
    const { rows } = await this.admin.query<FenceRow>(
      `SELECT token::text, encode(attempt, 'hex') AS attempt, previous_token::text AS "previousToken",
         encode(previous_attempt, 'hex') AS "previousAttempt", claimed_at::text AS "claimedAt"
       FROM ${table} WHERE lock_key = $1`,
      [Buffer.from(key)],
    )
    return rows[0]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.end()))
    // What a role was granted in this database must go before the role can.
    for (const name of this.#roles) await this.admin.query(`DROP OWNED BY ${name}; DROP ROLE ${name}`)
    await Promise.all(this.#pools.map((pool) => pool.end()))
    await this.#database[Symbol.asyncDispose]()
  }
}

/** For a fence that only migrates. */
export const noBroker: Broker = {
  acquire: () => Promise.reject(new Error('No ticket is needed here.')),
}

/** What a promise rejects with; a promise that resolves is the failure. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  const value = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('error' in value) return value.error
  throw new Error(`It should have been refused, but it resolved with ${JSON.stringify(value.value)}.`)
}
