import type { Broker } from '@ticketing/client'
import { pgFence } from '@ticketing/pg'
import pg from 'pg'
import { DemoError, describe } from './demo-error.js'
import { fenceTable } from './sections.js'
import { schema } from './transfer.js'

/** Cents in each account when the bank opens. */
const openingBalance = 100_000

const tables = `
  DROP SCHEMA IF EXISTS ${schema} CASCADE;
  CREATE SCHEMA ${schema};
  CREATE TABLE ${schema}.account (
    id integer PRIMARY KEY,
    opening integer NOT NULL,
    balance integer NOT NULL
  );
  CREATE TABLE ${schema}.ledger (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account integer NOT NULL REFERENCES ${schema}.account,
    change integer NOT NULL,
    balance integer NOT NULL,
    token bigint NOT NULL
  );
  CREATE INDEX ON ${schema}.ledger (account, id)`

/** The accounts and their ledger, in a schema that is made anew for each run. */
export class Bank implements AsyncDisposable {
  readonly pool: pg.Pool
  readonly postgresMajor: number
  /** All balances when the bank opened, in cents. */
  readonly sumBefore: number
  readonly #exclusive: pg.PoolClient

  private constructor(pool: pg.Pool, exclusive: pg.PoolClient, opened: { major: number; sum: number }) {
    this.pool = pool
    this.#exclusive = exclusive
    this.postgresMajor = opened.major
    this.sumBefore = opened.sum
  }

  /**
   * Opens a bank of `accounts` accounts, numbered from 1, each with the same balance.
   *
   * @throws {DemoError} when the database cannot be used, or another demo uses it.
   */
  static async open(databaseUrl: string, broker: Broker, accounts: number): Promise<Bank> {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 3, connectionTimeoutMillis: 10_000 })
    pool.on('error', () => {})
    let exclusive: pg.PoolClient | undefined
    try {
      exclusive = await pool.connect()
      await claimSchema(exclusive)
      await exclusive.query(tables)
      await pgFence(pool, { broker, table: fenceTable }).migrate()
      await exclusive.query(
        `INSERT INTO ${schema}.account SELECT id, $2, $2 FROM generate_series(1, $1::integer) AS id`,
        [accounts, openingBalance],
      )
      const { rows } = await exclusive.query<{ major: number; sum: number }>(
        "SELECT current_setting('server_version_num')::integer / 10000 AS major, sum(balance)::float8 AS sum " +
          `FROM ${schema}.account`,
      )
      return new Bank(pool, exclusive, rows[0] ?? { major: 0, sum: Number.NaN })
    } catch (error) {
      exclusive?.release(true)
      await pool.end()
      if (error instanceof DemoError) throw error
      throw new DemoError(`The database cannot be used, so nothing was run: ${describe(error)}.`, { cause: error })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Ends the session and with it the advisory lock.
    this.#exclusive.release(true)
    await this.pool.end()
  }
}

/** Two demos on one database would drop each other's tables. */
async function claimSchema(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query<{ free: boolean }>('SELECT pg_try_advisory_lock(hashtext($1)) AS free', [schema])
  if (rows[0]?.free) return
  throw new DemoError(
    `Another run of this demo is using the schema ${schema} of this database. Nothing was run or changed. ` +
      'Wait for its end, or name another database with --database-url.',
  )
}
