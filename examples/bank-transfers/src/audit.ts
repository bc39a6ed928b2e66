import type pg from 'pg'
import { schema } from './transfer.js'

/** What the books say after a run; every figure is computed by the database. Money is in cents. */
export interface Audit {
  readonly sumOfBalances: number
  readonly accounts: number
  readonly transfers: number
  /** Accounts whose balance is not what their ledger adds up to. */
  readonly differences: readonly Difference[]
  /** How many ledger rows have an older token than the row before them on the same account. */
  readonly staleWrites: number
  readonly lostUpdates: readonly LostUpdate[]
}

export interface Difference {
  readonly account: number
  readonly balance: number
  /** The opening balance and all changes of the ledger. */
  readonly byLedger: number
}

/** A ledger row that wrote over rows which it had not read: it started from an older balance than theirs. */
export interface LostUpdate {
  readonly account: number
  readonly id: string
  readonly token: string
  readonly balance: number
  /** The rows that it wrote over: the first, the last, how many, and the sum of their changes. */
  readonly firstId: string
  readonly lastId: string
  readonly rows: number
  readonly lost: number
}

const totalsQuery = `
  SELECT sum(balance)::float8 AS "sumOfBalances", count(*)::integer AS accounts,
         (SELECT count(*) FROM ${schema}.ledger)::float8 AS entries FROM ${schema}.account`

const differencesQuery = `
  SELECT a.id AS account, a.balance, (a.opening + coalesce(sum(l.change), 0))::integer AS "byLedger"
    FROM ${schema}.account a LEFT JOIN ${schema}.ledger l ON l.account = a.id
   GROUP BY a.id HAVING a.balance <> a.opening + coalesce(sum(l.change), 0) ORDER BY a.id`

// A row is numbered while its section holds the account's row, so on one account the numbers follow the writes.
const staleWritesQuery = `
  SELECT count(*)::integer AS "staleWrites" FROM (
    SELECT token, lag(token) OVER (PARTITION BY account ORDER BY id) AS before FROM ${schema}.ledger) AS ordered
   WHERE token <= before`

// What a row had read is its balance without its own change; the rows since the last one that wrote this are lost.
const lostUpdatesQuery = `
  WITH ordered AS (
    SELECT l.*, l.balance - l.change AS had_read,
           coalesce(lag(l.balance) OVER (PARTITION BY l.account ORDER BY l.id), a.opening) AS before
      FROM ${schema}.ledger l JOIN ${schema}.account a ON a.id = l.account),
  wrong AS MATERIALIZED (SELECT * FROM ordered WHERE had_read <> before)
  SELECT w.account, w.id, w.token, w.balance, min(o.id) AS "firstId", max(o.id) AS "lastId",
         count(*)::integer AS rows, sum(o.change)::integer AS lost
    FROM wrong w
   CROSS JOIN LATERAL (
     SELECT coalesce(max(id), 0) AS id FROM ${schema}.ledger r
      WHERE r.account = w.account AND r.id < w.id AND r.balance = w.had_read) AS read
    JOIN ${schema}.ledger o ON o.account = w.account AND o.id < w.id AND o.id > read.id
   GROUP BY w.account, w.id, w.token, w.balance ORDER BY w.account, w.id`

/** Adds up the bank's books. */
export async function audit(pool: pg.Pool): Promise<Audit> {
  const totals = await pool.query<{ sumOfBalances: number; accounts: number; entries: number }>(totalsQuery)
  const stale = await pool.query<{ staleWrites: number }>(staleWritesQuery)
  const { sumOfBalances = Number.NaN, accounts = 0, entries = Number.NaN } = totals.rows[0] ?? {}
  return {
    sumOfBalances,
    accounts,
    // Two rows for each transfer: what left one account and what came to the other.
    transfers: entries / 2,
    differences: (await pool.query<Difference>(differencesQuery)).rows,
    staleWrites: stale.rows[0]?.staleWrites ?? Number.NaN,
    lostUpdates: (await pool.query<LostUpdate>(lostUpdatesQuery)).rows,
  }
}

/** How many ledger rows were written under one of these tokens. */
export async function rowsUnder(pool: pg.Pool, tokens: readonly bigint[]): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM ${schema}.ledger WHERE token = ANY($1::bigint[])`,
    [tokens.map(String)],
  )
  return rows[0]?.count ?? 0
}
