/**
 * What a fenced section costs against the transaction it protects: BEGIN, UPDATE of one row, COMMIT, in each library's
 * own idiom. Client, lock server and database are separate processes; each worker has its own row and key.
 */
import { parseArgs } from 'node:util'
import { TicketBroker } from '@ticketing/client'
import { startEmbeddedPostgres } from '@ticketing/testing'
import pg from 'pg'
import { alternate, type Contender, compare } from './alternate.js'
import { openKnex } from './libraries/knex.js'
import { advisoryLock, fenceTable, forUpdate, keyOf, type Library, type LibrarySettings } from './libraries/library.js'
import { openPg } from './libraries/pg.js'
import { openPrisma } from './libraries/prisma.js'
import { openTypeorm } from './libraries/typeorm.js'
import { startLockServer } from './lock-server.js'
import { connectRedlock, type RedisLock } from './redlock.js'

type Opener = (settings: LibrarySettings) => Promise<Library>

const libraries: Readonly<Record<string, Opener>> = {
  pg: openPg,
  knex: openKnex,
  typeorm: openTypeorm,
  prisma: openPrisma,
}

const help = `Usage: node dist/section.mjs [--library LIST] [--workers LIST] [--seconds N] [--rounds N] [--database-url URL] [--redis-url URL]
  --library LIST      which libraries, default ${Object.keys(libraries).join(',')}
  --workers LIST      concurrent callers, default 1,16
  --seconds N         length of one turn of one contender, default 1
  --rounds N          counted rounds, default 5
  --database-url URL  use this PostgreSQL (tables of its own are made and dropped); default: an embedded one
  --redis-url URL     the Redis for Redlock, default redis://127.0.0.1:6379; without one, Redlock is left out`

const { values: options } = parseArgs({
  options: {
    library: { type: 'string', default: Object.keys(libraries).join(',') },
    workers: { type: 'string', default: '1,16' },
    seconds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '5' },
    'database-url': { type: 'string' },
    'redis-url': { type: 'string', default: 'redis://127.0.0.1:6379' },
    help: { type: 'boolean' },
  },
})
if (options.help) {
  console.log(help)
  process.exit(0)
}

const names = options.library.split(',')
const unknown = names.filter((name) => !Object.hasOwn(libraries, name))
if (unknown.length > 0) {
  console.error(`Nothing was measured: there is no library ${unknown.join(', ')}.\n\n${help}`)
  process.exit(1)
}
const workersList = options.workers.split(',').map(Number)
const connectionsMax = Math.max(...workersList)
const embedded = options['database-url'] === undefined ? await startEmbeddedPostgres() : undefined
const url = embedded?.url ?? options['database-url'] ?? ''
const server = await startLockServer()
const admin = new pg.Pool({ connectionString: url, max: 1 })
const broker = TicketBroker.connect(server.address)
const redlock = await connectRedlock(options['redis-url'])
if (redlock === undefined) console.log(`No Redis at ${options['redis-url']}: Redlock is left out.`)

try {
  await broker.waitReady(5)
  for (const [name, open] of Object.entries(libraries)) if (names.includes(name)) await measure(open)
} finally {
  await dropTables().catch(() => undefined)
  await broker.close()
  await admin.end()
  await redlock?.[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await embedded?.stop()
}

async function measure(open: Opener): Promise<void> {
  await dropTables()
  await admin.query('CREATE TABLE bench_account (id integer PRIMARY KEY, balance bigint NOT NULL)')
  await admin.query('INSERT INTO bench_account SELECT n, 0 FROM generate_series(0, $1) AS n', [connectionsMax])
  const library = await open({ url, connectionsMax, broker })
  try {
    for (const workers of workersList) {
      const rounds = { workers, rounds: Number(options.rounds), secondsPerTurn: Number(options.seconds) }
      print(library, workers, await alternate(contenders(library, redlock), rounds))
    }
  } finally {
    await library[Symbol.asyncDispose]()
  }
}

function contenders(library: Library, redlock: RedisLock | undefined): Contender[] {
  const around = (lock: RedisLock): Contender => ({
    name: 'Redlock around it (not safe)',
    run: (worker) => lock.around(keyOf(worker), () => library.transaction(worker)),
  })
  return [
    { name: 'bare transaction', run: (worker) => library.transaction(worker) },
    { name: 'fenced section, lock included', run: (worker) => library.fenced(worker) },
    { name: 'SELECT … FOR UPDATE inside', run: (worker) => library.transaction(worker, forUpdate) },
    { name: 'advisory lock inside', run: (worker) => library.transaction(worker, advisoryLock) },
    ...(redlock === undefined ? [] : [around(redlock)]),
  ]
}

function print({ name }: Library, workers: number, results: Awaited<ReturnType<typeof alternate>>): void {
  const callers = `${workers} worker${workers === 1 ? '' : 's'}`
  console.log(`\n${name}, ${callers}, distinct rows; ratios are to the bare transaction, round by round`)
  const rates = compare(results, 'perSecond')
  const rows = compare(results, 'p50Microseconds').map(({ name, value, ratio }, index) => [
    name,
    {
      'p50 µs': Math.round(value),
      '× bare': ratio.toFixed(2),
      'per second': Math.round(rates[index]?.value ?? 0),
      '× bare ': rates[index]?.ratio.toFixed(2),
    },
  ])
  console.table(Object.fromEntries(rows))
}

async function dropTables(): Promise<void> {
  await admin.query(`DROP TABLE IF EXISTS bench_account, ${fenceTable}, ${fenceTable}_floor`)
}
