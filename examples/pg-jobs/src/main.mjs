// @ts-check
/** `npm start [-- --unfenced]`: a worker stalls past its lease, another one takes its job, and the money is counted. */
import { TicketBroker } from '@ticketing/client'
import { pgFence } from '@ticketing/pg'
import { startServer } from '@ticketing/server'
import { startEmbeddedPostgres } from '@ticketing/testing'
import pg from 'pg'
import { creditAccount, JobQueue, tables } from './job-queue.mjs'
import { lockOnly } from './lock-only.mjs'

const fenced = !process.argv.includes('--unfenced')
const jobs = 3
/** A short lease, so that the demo does not take long. @satisfies {import('@ticketing/client').AcquireOptions} */
const times = { wait: 0, lease: 2, minWork: 0 }

const server = await startServer({ listen: '127.0.0.1:0' }) // in production: ticketing-server, in a process of its own
const database = await startEmbeddedPostgres() // in production: your own PostgreSQL
const pool = new pg.Pool({ connectionString: database.url })
pool.on('error', () => {}) // else a connection that ends while idle would end the process
const broker = TicketBroker.connect(server.address)
try {
  await pool.query(tables)
  await pool.query("INSERT INTO account VALUES ('alice', 0)")
  await pool.query("INSERT INTO job (account, amount) SELECT 'alice', 100 FROM generate_series(1, $1::integer)", [jobs])
  const fence = pgFence(pool, { broker, defaults: times })
  await fence.migrate()

  let stall = () => {}
  let resume = () => {}
  const stalled = new Promise((resolve) => (stall = () => resolve(undefined)))
  const resumed = new Promise((resolve) => (resume = () => resolve(undefined)))
  let stalls = 0
  const sections = fenced ? fence : lockOnly(pool, broker, times)
  const queue = new JobQueue(pool, sections, async (tx, job, worker) => {
    if (worker === 'A' && stalls++ === 0) {
      console.log(`worker A: has taken job ${job.id}, and stalls`)
      stall()
      await resumed
    }
    await creditAccount(tx, job, worker)
    console.log(`worker ${worker}: job ${job.id}, 100 for alice`)
  })
  /** @param {string} worker */
  const workOff = (worker) =>
    queue.workOff(worker, (id, error) => {
      console.log(
        `worker ${worker}: refused job ${id}, ${'code' in error ? error.code : error}: nothing of it was written`,
      )
    })

  console.log(`${jobs} jobs, each locked for ${times.lease} s, ${fenced ? 'with' : 'WITHOUT'} the fence`)
  const slow = workOff('A')
  await Promise.race([stalled, slow])
  await workOff('B')
  resume()
  await slow

  const { rows } = await pool.query('SELECT balance, (SELECT count(*)::integer FROM credit) AS credits FROM account')
  const [{ balance, credits }] = rows
  const addsUp = balance === jobs * 100 && credits === jobs
  console.log(`${jobs} jobs, ${credits} credits, alice has ${balance}: ${addsUp ? 'ok' : 'WRONG'}`)
  process.exitCode = addsUp ? 0 : 1
} finally {
  await broker.close()
  await pool.end()
  await database.stop()
  await server.close()
}
