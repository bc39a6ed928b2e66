/**
 * What a fenced section costs against the transaction it protects: BEGIN, UPDATE of one row, COMMIT. Client, lock server
 * and database are separate processes; each worker has its own row and key.
 */
import { parseArgs } from 'node:util'
import { TicketBroker } from '@ticketing/client'
import { pgFence } from '@ticketing/pg'
import { startEmbeddedPostgres } from '@ticketing/testing'
import pg from 'pg'
import { alternate, type Contender, compare } from './alternate.js'
import { startLockServer } from './lock-server.js'

const help = `Usage: node dist/pg-section.mjs [--database-url URL] [--seconds N] [--rounds N] [--workers 1,16]
  --database-url URL  use this PostgreSQL (tables of its own are made and dropped); default: an embedded one
  --seconds N         length of one turn of one contender, default 1
  --rounds N          counted rounds, default 5
  --workers LIST      concurrent callers, default 1,16`

const { values: options } = parseArgs({
  options: {
    'database-url': { type: 'string' },
    seconds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '5' },
    workers: { type: 'string', default: '1,16' },
    help: { type: 'boolean' },
  },
})
if (options.help) {
  console.log(help)
  process.exit(0)
}

const workersList = options.workers.split(',').map(Number)
const workersMax = Math.max(...workersList)
const embedded = options['database-url'] === undefined ? await startEmbeddedPostgres() : undefined
const server = await startLockServer()
const pool = new pg.Pool({ connectionString: options['database-url'] ?? embedded?.url, max: workersMax })
const broker = TicketBroker.connect(server.address)
const bare: Contender = { name: 'bare transaction', run: inTransaction() }
const forUpdate: Contender = {
  name: 'SELECT … FOR UPDATE inside',
  run: inTransaction('SELECT balance FROM bench_account WHERE id = $1 FOR UPDATE'),
}
const advisory: Contender = { name: 'advisory lock inside', run: inTransaction('SELECT pg_advisory_xact_lock($1)') }

try {
  await broker.waitReady(5)
  await measure()
} finally {
  await pool.query('DROP TABLE IF EXISTS bench_account, bench_fence, bench_fence_floor').catch(() => undefined)
  await broker.close()
  await pool.end()
  await server[Symbol.asyncDispose]()
  await embedded?.stop()
}

async function measure(): Promise<void> {
  await pool.query('DROP TABLE IF EXISTS bench_account, bench_fence, bench_fence_floor')
  await pool.query('CREATE TABLE bench_account (id integer PRIMARY KEY, balance bigint NOT NULL)')
  await pool.query('INSERT INTO bench_account SELECT n, 0 FROM generate_series(0, $1) AS n', [workersMax])
  const fence = pgFence(pool, { broker, table: 'bench_fence', defaults: { wait: 5, lease: 30, minWork: 2 } })
  await fence.migrate()
  const contenders = [bare, fenced(fence), forUpdate, advisory]
  for (const workers of workersList) {
    const results = await alternate(contenders, {
      workers,
      rounds: Number(options.rounds),
      secondsPerTurn: Number(options.seconds),
    })
    console.log(
      `\n${workers} worker${workers === 1 ? '' : 's'}, distinct rows; ratios are to the bare transaction, round by round`,
    )
    const rates = compare(results, 'perSecond')
    console.table(
      Object.fromEntries(
        compare(results, 'p50Microseconds').map(({ name, value, ratio }, index) => [
          name,
          {
            'p50 µs': Math.round(value),
            '× bare': ratio.toFixed(2),
            'per second': Math.round(rates[index]?.value ?? 0),
            '× bare ': rates[index]?.ratio.toFixed(2),
          },
        ]),
      ),
    )
  }
}

function inTransaction(before?: string): (worker: number) => Promise<void> {
  return async (worker) => {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      if (before !== undefined) await client.query(before, [worker])
      await client.query('UPDATE bench_account SET balance = balance + 1 WHERE id = $1', [worker])
      await client.query('COMMIT')
    } finally {
      client.release()
    }
  }
}

function fenced(fence: ReturnType<typeof pgFence<{ wait: 5; lease: 30; minWork: 2 }>>): Contender {
  return {
    name: 'fenced section, lock included',
    run: (worker) =>
      fence.run(`bench:${worker}`, (tx) =>
        tx.query('UPDATE bench_account SET balance = balance + 1 WHERE id = $1', [worker]),
      ),
  }
}
