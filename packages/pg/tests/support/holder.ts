/**
 * A process that runs sections on orders of a test, and can really be stopped inside them (SIGSTOP). Started by
 * `HolderProcess`; its grants come from a scripted broker, so the test decides the tokens.
 */
import type { SectionTicket } from '@ticketing/core'
import pg from 'pg'
import { type PgTransaction, pgFence } from '../../src/index.js'
import type { HolderMessage, HolderOrder, ReportedError } from './holder-messages.js'
import { ScriptedBroker } from './scripted-broker.js'
import { noBroker } from './test-bed.js'
import { watchedSocket } from './wire-log.js'

/** Nothing but the end of the lease or of the connection ends it. */
const forever = new Promise<never>(() => setInterval(() => undefined, 60_000))

process.on('message', (message: HolderOrder | 'go') => {
  if (message !== 'go') void carryOut(message)
})
process.on('disconnect', () => process.exit())
tell({ event: 'ready' })

async function carryOut(order: HolderOrder): Promise<void> {
  try {
    await (order.scenario === 'migrate' ? migrate(order.url, order.pools) : hold(order))
  } catch (error) {
    tell({ event: 'end', error: reported(error), bytes: 0 })
  }
}

async function migrate(url: string, count: number): Promise<void> {
  const pools = Array.from({ length: count }, () => new pg.Pool({ connectionString: url, max: 1 }))
  try {
    await Promise.all(pools.map((pool) => pgFence(pool, { broker: noBroker }).migrate()))
    tell({ event: 'end', error: undefined, bytes: 0 })
  } finally {
    await Promise.all(pools.map((pool) => pool.end()))
  }
}

async function hold({ scenario, url, key, token, leaseSeconds }: Exclude<HolderOrder, { pools: number }>) {
  let bytes = 0
  let stopAtWrite = false
  const stream = () =>
    watchedSocket((chunk) => {
      if (stopAtWrite) {
        stopAtWrite = false
        stopHere()
      }
      bytes += chunk.length
    })
  const pool = new pg.Pool({ connectionString: url, max: 1, stream })
  pool.on('error', () => undefined)
  await pool.query('SELECT 1')
  bytes = 0
  stopAtWrite = scenario === 'before-begin'
  if (scenario === 'before-check') {
    const connect = pool.connect.bind(pool)
    pool.connect = async () => {
      const client = await connect()
      stopHere()
      return client
    }
  }
  const broker = new ScriptedBroker(BigInt(token) - 1n)
  const fence = pgFence(pool, { broker })
  const options = { wait: 0, lease: leaseSeconds, minWork: 0 }
  let error: unknown
  try {
    await fence.run(key, options, (tx, ticket) => works[scenario](tx, ticket, key, leaseSeconds))
  } catch (caught) {
    error = caught
  }
  tell({ event: 'end', error: reported(error), bytes })
  await pool.end()
}

type Work = (tx: PgTransaction, ticket: SectionTicket, key: string, leaseSeconds: number) => Promise<void>

const works: Record<'late' | 'alternating' | 'before-check' | 'before-begin', Work> = {
  /** Writes, is busy until late in its lease, and goes idle. */
  late: async (tx, ticket, key, leaseSeconds) => {
    await write(tx, key)
    while (ticket.remaining() > leaseSeconds * 0.25) await tx.query('SELECT pg_sleep(0.02)')
    tell({ event: 'at', remainingSeconds: ticket.remaining() })
    await forever
  },
  /** Writes and goes idle; when it is told to go on, runs one short statement and goes idle again. */
  alternating: async (tx, ticket, key) => {
    await write(tx, key)
    const goOn = new Promise((resolve) => process.once('message', resolve))
    tell({ event: 'at', remainingSeconds: ticket.remaining() })
    await goOn
    await tx.query('SELECT 1')
    tell({ event: 'at', remainingSeconds: ticket.remaining() })
    await forever
  },
  'before-check': write1,
  'before-begin': write1,
}

async function write1(tx: PgTransaction, _: SectionTicket, key: string): Promise<void> {
  await write(tx, key)
}

async function write(tx: PgTransaction, key: string): Promise<void> {
  await tx.query('INSERT INTO account VALUES ($1, 666) ON CONFLICT (id) DO UPDATE SET balance = 666', [key])
}

/** Returns when somebody sends SIGCONT. */
function stopHere(): void {
  process.kill(process.pid, 'SIGSTOP')
}

function reported(error: unknown): ReportedError | undefined {
  if (error === undefined) return undefined
  const { name, code, message, key, token, highWater, cause } = error as Record<string, unknown>
  const { code: causeCode } = (cause ?? {}) as { code?: unknown }
  return JSON.parse(
    JSON.stringify({ name, code, message, key, token, highWater, causeCode }, bigintsAsText),
  ) as ReportedError
}

function bigintsAsText(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

function tell(message: HolderMessage): void {
  process.send?.(message)
}
