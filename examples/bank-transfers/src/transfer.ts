/** Money on its way from one account to another; amounts are whole cents. */
export interface Order {
  readonly from: number
  readonly to: number
  readonly amount: number
}

/** All that a transfer needs of a transaction. The handle of a fenced section has it, and so has a plain connection. */
export interface Statements {
  query<Row>(text: string, values: readonly unknown[]): Promise<{ readonly rows: readonly Row[] }>
}

/** Where a stall holder stops in the middle of a transfer. A worker has none of these. */
export interface Pauses {
  readonly afterRead?: (() => Promise<void>) | undefined
  readonly afterFirstWrite?: (() => Promise<void>) | undefined
}

/** The schema that the demo makes anew at its start. It touches nothing else of the database. */
export const schema = 'ticketing_bank_demo'

/** The key that guards an account. */
export function keyOf(account: number): string {
  return `bank:${account}`
}

/** The keys of a transfer's critical section: both accounts. */
export function keysOf(order: Order): readonly string[] {
  return [keyOf(order.from), keyOf(order.to)]
}

/**
 * The critical work: reads both balances, computes, writes both results, and enters them in the ledger with the tokens
 * they were written under.
 *
 * It reads without a row lock and writes absolute values. So nothing but the section around it keeps two transfers from
 * losing each other's writes.
 */
export async function transfer(
  tx: Statements,
  order: Order,
  tokenOf: (key: string) => bigint,
  pauses: Pauses = {},
): Promise<void> {
  const { rows } = await tx.query<{ id: number; balance: number }>(
    `SELECT id, balance FROM ${schema}.account WHERE id IN ($1, $2)`,
    [order.from, order.to],
  )
  await pauses.afterRead?.()

  const balances = new Map(rows.map(({ id, balance }) => [id, balance]))
  const amount = Math.min(order.amount, balances.get(order.from) ?? 0)
  const entry = (account: number, change: number): Entry => ({
    account,
    change,
    balance: (balances.get(account) ?? 0) + change,
    // A token is a bigint and goes to the database as text: a JavaScript number would round it.
    token: String(tokenOf(keyOf(account))),
  })
  // In the order of the accounts, so that two transactions cannot wait for each other's rows.
  const entries = [entry(order.from, -amount), entry(order.to, amount)].sort((a, b) => a.account - b.account)

  for (const [index, { account, balance }] of entries.entries()) {
    await tx.query(`UPDATE ${schema}.account SET balance = $2 WHERE id = $1`, [account, balance])
    if (index === 0) await pauses.afterFirstWrite?.()
  }
  const column = (name: keyof Entry) => entries.map((row) => row[name])
  await tx.query(
    `INSERT INTO ${schema}.ledger (account, change, balance, token) ` +
      'SELECT * FROM unnest($1::integer[], $2::integer[], $3::integer[], $4::bigint[])',
    [column('account'), column('change'), column('balance'), column('token')],
  )
}

/** A row of the ledger: one account's side of a transfer. */
interface Entry {
  readonly account: number
  readonly change: number
  /** The balance that was written. */
  readonly balance: number
  readonly token: string
}
