import { invalidArgument } from '../fence-errors.js'
import { schemaVersion, schemaVersionBreaking } from '../schema-version.js'
import type { ClaimReceipt, Dialect, ErrorMeaning, FenceTables, SqlRow, SqlStatement } from './dialect.js'

const identifierBytesMax = 63
const floorSuffix = '_floor'

/** PostgreSQL 13 and later. */
export interface PostgresDialect extends Dialect {
  /**
   * Sets the bounds of servers before 17 anew. Each of their timeouts counts from the last statement, so they hold the
   * lease only if they are sent again, with what then remains, before every statement (F4).
   */
  bounds(milliseconds: number): SqlStatement
  /** Whether the server that answered a claim has no `transaction_timeout`, so that its bounds must be sent again. */
  boundsMustBeResent(claimRows: readonly SqlRow[]): boolean
}

/**
 * The least of a timeout's present value and `$n` milliseconds, as text: a shorter bound that the role, the database or
 * the user's own SET LOCAL gave is kept. `0` means that there is none.
 */
function shorterOf(setting: string, parameter: string): string {
  return (
    `CASE current_setting('${setting}') WHEN '0' THEN ${parameter}::text ` +
    `ELSE least(${parameter}::text::numeric, extract(epoch FROM current_setting('${setting}')::interval) * 1000)::bigint::text END`
  )
}

function setShorter(setting: string, parameter: string): string {
  return `set_config('${setting}', ${shorterOf(setting, parameter)}, true)`
}

const timeoutsBefore17 = ['statement_timeout', 'idle_in_transaction_session_timeout']

const boundsText = `SELECT ${[...timeoutsBefore17, 'lock_timeout'].map((setting) => setShorter(setting, '$1')).join(', ')}`

/*
 * $1 is the bound of the transaction, $2 that of the claim, in milliseconds. A running transaction_timeout is not
 * re-armed by a new value: it is set to 0 first, and only where it is longer than ours. The text of its present value
 * is read in a step of its own, before anything is set.
 */
const boundsSteps =
  "WITH present AS MATERIALIZED (SELECT current_setting('transaction_timeout', true) AS timeout), " +
  'bounds AS MATERIALIZED (SELECT ' +
  `${setShorter('lock_timeout', '$2')} AS claim_bound, ` +
  'CASE WHEN timeout IS NULL THEN ' +
  `${timeoutsBefore17.map((setting) => setShorter(setting, '$1')).join(' || ')} ` +
  "WHEN timeout <> '0' AND extract(epoch FROM timeout::interval) * 1000 <= $1::text::numeric THEN timeout " +
  "ELSE set_config('transaction_timeout', '0', true) || set_config('transaction_timeout', $1::text, true) " +
  'END AS transaction_bound, timeout IS NULL AS resend FROM present)'

function claimText(tables: FenceTables, source: string): string {
  return (
    `${boundsSteps} INSERT INTO ${tables.fence} AS fence (lock_key, token, attempt, claimed_at) ` +
    `SELECT ${source} ` +
    // The floor is read by the claim itself: a read before it would fix what the section sees too early (F1, F7).
    `AND floor.floor < claim.token AND floor.schema_version < ${schemaVersionBreaking} ORDER BY claim.lock_key ` +
    'ON CONFLICT (lock_key) DO UPDATE SET previous_token = fence.token, previous_attempt = fence.attempt, ' +
    'token = excluded.token, attempt = excluded.attempt, claimed_at = clock_timestamp() ' +
    'WHERE fence.token < excluded.token ' +
    'RETURNING pg_current_xact_id()::text AS identity, (SELECT resend::text FROM bounds) AS resend'
  )
}

/** The claim of one key and of several, for one pair of tables. */
interface ClaimTexts {
  readonly one: string
  readonly many: string
}

// Kept, since a text that is put together for each section must be hashed for each one to find its prepared statement.
const claimTexts = new WeakMap<FenceTables, ClaimTexts>()

function claimTextsOf(tables: FenceTables): ClaimTexts {
  const kept = claimTexts.get(tables)
  if (kept !== undefined) return kept
  const texts = { one: claimOne(tables), many: claimMany(tables) }
  claimTexts.set(tables, texts)
  return texts
}

const claimColumns = "claim.lock_key, claim.token, decode($3::text, 'hex'), clock_timestamp()"

function claimOne(tables: FenceTables): string {
  return claimText(
    tables,
    `${claimColumns} FROM bounds, (SELECT decode($4::text, 'hex') AS lock_key, $5::text::bigint AS token) AS claim, ` +
      `${tables.floor} AS floor WHERE floor.id = 1`,
  )
}

function claimMany(tables: FenceTables): string {
  return claimText(
    tables,
    `${claimColumns} FROM bounds, ` +
      "(SELECT decode(k, 'hex') AS lock_key, t::bigint AS token FROM unnest($4::text[], $5::text[]) AS pair(k, t)) AS claim, " +
      `${tables.floor} AS floor WHERE floor.id = 1`,
  )
}

function hex(key: string): string {
  return Buffer.from(key, 'utf8').toString('hex')
}

function textOf(row: SqlRow | undefined, column: string): string | undefined {
  const value = row?.[column]
  return typeof value === 'string' ? value : undefined
}

function quote(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`
}

function tablesOf(name: string): FenceTables {
  const parts = name.split('.')
  const table = parts.at(-1) ?? ''
  const faulty = parts.some(
    (part) => part === '' || part.includes('\0') || Buffer.byteLength(part) > identifierBytesMax,
  )
  if (parts.length > 2 || faulty || Buffer.byteLength(table + floorSuffix) > identifierBytesMax) {
    throw invalidArgument(
      'table',
      `must be "table" or "schema.table", each part 1 to ${identifierBytesMax} bytes and the table at most ` +
        `${identifierBytesMax - floorSuffix.length}, not ${JSON.stringify(name)}`,
    )
  }
  const schema = parts.length === 2 ? `${quote(parts[0] as string)}.` : ''
  return { name, fence: schema + quote(table), floor: schema + quote(table + floorSuffix) }
}

function errorMeaning(sqlState: string | undefined, fatal: boolean): ErrorMeaning {
  switch (sqlState) {
    case undefined:
      return 'unknown'
    case '40001':
    case '40P01':
      return 'serialisation'
    case '55P03':
    case '57014':
      return 'blocked'
    case '25P03':
    case '25P04':
      return 'lease-ended'
    case '42P01':
      return 'no-table'
    case '25P02':
      return 'aborted'
    case '40003':
      return 'unknown'
    default:
      return fatal || sqlState.startsWith('08') || sqlState.startsWith('57P0') ? 'unknown' : 'definite'
  }
}

/** The SQL of PostgreSQL 13 and later; tested on 15 and 18. */
export const postgres: PostgresDialect = {
  name: 'PostgreSQL',
  tables: tablesOf,

  claim(tables, claims, attempt, bounds) {
    const shared = [
      String(bounds.transactionMilliseconds),
      String(bounds.claimMilliseconds),
      Buffer.from(attempt).toString('hex'),
    ]
    const [only] = claims
    if (claims.length === 1 && only !== undefined) {
      return { text: claimTextsOf(tables).one, values: [...shared, hex(only.key), String(only.token)] }
    }
    const keys = claims.map((claim) => hex(claim.key))
    const tokens = claims.map((claim) => String(claim.token))
    return { text: claimTextsOf(tables).many, values: [...shared, keys, tokens] }
  },

  readClaim(rows): ClaimReceipt {
    return { claimed: rows.length, identity: textOf(rows[0], 'identity') }
  },

  boundsMustBeResent(claimRows) {
    return textOf(claimRows[0], 'resend') === 'true'
  },

  bounds(milliseconds) {
    return { text: boundsText, values: [String(milliseconds)] }
  },

  storedTokens(tables, keys) {
    // A row that this very claim has moved stood lower before: it is not what refused.
    const before =
      'CASE WHEN fence.xmin = pg_current_xact_id_if_assigned()::xid THEN fence.previous_token ELSE fence.token END'
    return {
      text:
        `SELECT wanted.n::text AS n, (${before})::text AS token, floor.floor::text AS floor, ` +
        'floor.schema_version::text AS schema_version ' +
        'FROM unnest($1::text[]) WITH ORDINALITY AS wanted(k, n) ' +
        `LEFT JOIN ${tables.fence} AS fence ON fence.lock_key = decode(wanted.k, 'hex') ` +
        `LEFT JOIN ${tables.floor} AS floor ON floor.id = 1 ORDER BY wanted.n`,
      values: [keys.map(hex)],
    }
  },

  readStoredTokens(keys, rows) {
    const highWaters = new Map<string, bigint>()
    for (const [index, key] of keys.entries()) {
      const token = textOf(rows[index], 'token')
      if (token !== undefined) highWaters.set(key, BigInt(token))
    }
    const floor = textOf(rows[0], 'floor')
    const version = textOf(rows[0], 'schema_version')
    return {
      floor: floor === undefined ? undefined : BigInt(floor),
      schemaVersion: version === undefined ? undefined : Number(version),
      highWaters,
    }
  },

  identity() {
    return { text: 'SELECT pg_current_xact_id_if_assigned()::text AS identity', values: [] }
  },

  readIdentity: (rows) => textOf(rows[0], 'identity'),

  abort() {
    // The text is what the server's log and the driver's error show.
    return { text: "SELECT CAST('the fence refused this transaction' AS integer)", values: [] }
  },

  migration: {
    lock: (tables) => ({
      text: "SELECT pg_advisory_xact_lock(hashtextextended('ticketing migration of ' || $1::text, 0))::text",
      values: [tables.fence],
    }),
    exists: (tables) => ({
      text: 'SELECT (to_regclass($1::text) IS NOT NULL AND to_regclass($2::text) IS NOT NULL)::text AS both_exist',
      values: [tables.fence, tables.floor],
    }),
    readExists: (rows) => textOf(rows[0], 'both_exist') === 'true',
    version: (tables) => ({
      text: `SELECT schema_version::text AS schema_version FROM ${tables.floor} WHERE id = 1`,
      values: [],
    }),
    readVersion(rows) {
      const version = textOf(rows[0], 'schema_version')
      return version === undefined ? undefined : Number(version)
    },
    create: (tables) => [
      {
        text:
          `CREATE TABLE IF NOT EXISTS ${tables.fence} (lock_key bytea PRIMARY KEY, token bigint NOT NULL, ` +
          'attempt bytea NOT NULL, previous_token bigint, previous_attempt bytea, claimed_at timestamptz NOT NULL)',
        values: [],
      },
      {
        text:
          `CREATE TABLE IF NOT EXISTS ${tables.floor} (id integer PRIMARY KEY CHECK (id = 1), floor bigint NOT NULL, ` +
          'raised_at timestamptz NOT NULL, schema_version integer NOT NULL)',
        values: [],
      },
      {
        text:
          `INSERT INTO ${tables.floor} (id, floor, raised_at, schema_version) ` +
          `VALUES (1, 0, clock_timestamp(), ${schemaVersion}) ON CONFLICT (id) DO NOTHING`,
        values: [],
      },
    ],
    drop: (tables) => [{ text: `DROP TABLE IF EXISTS ${tables.fence}, ${tables.floor}`, values: [] }],
  },

  errorMeaning,
}
