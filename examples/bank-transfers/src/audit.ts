import type pg from 'pg'
import { schema } from './transfer.js'

/** What the database says after a run; every figure is computed there. Money is in cents. */
export interface Audit {
  readonly sumBefore: number
  readonly sumAfter: number
  readonly accounts: number
  readonly transfers: number
  /** Accounts whose balance is not what their ledger adds up to. */
  readonly differences: readonly Difference[]
  /** Ledger rows that were written under an older token than the row before them on the same account. */
  readonly staleWrites: readonly StaleWrite[]
}

export interface Difference {
  readonly account: number
  readonly balance: number
  /** The opening balance and all changes of the ledger. */
  readonly byLedger: number
}

export interface StaleWrite {
  readonly id: string
  readonly account: number
  readonly token: string
  /** The balance that it wrote, over those of newer tokens. */
  readonly balance: number
  /** The rows of newer tokens before it, whose changes it overwrote. */
  readonly overwritten: number
  readonly firstId: string
  readonly firstToken: string
  readonly firstBalance: number
  /** The sum of their changes. */
  readonly lost: number
}

const differencesQuery = `
  SELECT a.id AS account, a.balance, (a.opening + coalesce(sum(l.change), 0))::integer AS "byLedger"
    FROM ${schema}.account a LEFT JOIN ${schema}.ledger l ON l.account = a.id
   GROUP BY a.id HAVING a.balance <> a.opening + coalesce(sum(l.change), 0) ORDER BY a.id`

// A section's rows are numbered inside it, so on one account the numbers follow the order of the sections.
const staleWritesQuery = `
  WITH ordered AS (SELECT *, lag(token) OVER (PARTITION BY account ORDER BY id) AS before FROM ${schema}.ledger),
       stale AS (SELECT * FROM ordered WHERE token <= before)
  SELECT s.id, s.account, s.token, s.balance, count(*)::integer AS overwritten, sum(n.change)::integer AS lost,
         min(n.id) AS "firstId", (array_agg(n.token ORDER BY n.id))[1] AS "firstToken",
         (array_agg(n.balance ORDER BY n.id))[1] AS "firstBalance"
    FROM stale s JOIN ${schema}.ledger n ON n.account = s.account AND n.id < s.id AND n.token >= s.token
   GROUP BY s.id, s.account, s.token, s.balance ORDER BY s.id`

/** Adds up the bank's books. */
export async function audit(pool: pg.Pool): Promise<Audit> {
  const sums = await pool.query<{ sumBefore: string; sumAfter: string; accounts: string; entries: string }>(
    `SELECT sum(opening) AS "sumBefore", sum(balance) AS "sumAfter", count(*) AS accounts,
            (SELECT count(*) FROM ${schema}.ledger) AS entries FROM ${schema}.account`,
  )
  const [row] = sums.rows
  return {
    sumBefore: Number(row?.sumBefore),
    sumAfter: Number(row?.sumAfter),
    accounts: Number(row?.accounts),
    // Two rows for each transfer: what left one account and what came to the other.
    transfers: Number(row?.entries) / 2,
    differences: (await pool.query<Difference>(differencesQuery)).rows,
    staleWrites: (await pool.query<StaleWrite>(staleWritesQuery)).rows,
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
