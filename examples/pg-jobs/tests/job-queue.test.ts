import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { AcquireOptions, Broker } from '@ticketing/client'
import { pgFence } from '@ticketing/pg'
import { createDatabase, type FakeBroker, fakeBroker, type TestDatabase } from '@ticketing/testing'
import { databaseTargets } from '@ticketing/testing/vitest'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { creditAccount, JobQueue, type Sections, tables } from '../src/job-queue.mjs'
import { lockOnly } from '../src/lock-only.mjs'
import { gate } from './support/gate.js'

const times = { wait: 0, lease: 30, minWork: 2 } satisfies AcquireOptions
const noRefusal = (id: string, error: Error) => expect.fail(`job ${id} was refused: ${error.message}`)

describe.each(databaseTargets())('the job queue on $name', (target) => {
  let database: TestDatabase
  let pool: pg.Pool
  let broker: FakeBroker
  beforeAll(async () => {
    database = await createDatabase(target)
    pool = new pg.Pool({ connectionString: database.url, max: 5 })
    pool.on('error', () => {})
    await pool.query(tables)
    await fenced(fakeBroker()).migrate()
  })
  afterAll(async () => {
    await pool.end()
    await database[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    broker = fakeBroker()
    await pool.query('TRUNCATE job, account, credit RESTART IDENTITY')
    await pool.query("INSERT INTO account VALUES ('alice', 0)")
  })

  const fenced = (broker: Broker) => pgFence(pool, { broker, defaults: times })
  const addJobs = (count: number) =>
    pool.query("INSERT INTO job (account, amount) SELECT 'alice', 100 FROM generate_series(1, $1::integer)", [count])

  /** What the jobs have brought about: who credited each, and the money. */
  async function books(): Promise<{ credits: string[]; balance: number; doneBy: string[] }> {
    const credits = await pool.query<{ text: string }>("SELECT job || ' ' || worker AS text FROM credit ORDER BY 1")
    const account = await pool.query<{ balance: number }>('SELECT balance FROM account')
    const jobs = await pool.query<{ doneBy: string }>('SELECT done_by AS "doneBy" FROM job ORDER BY id')
    return {
      credits: credits.rows.map(({ text }) => text),
      balance: account.rows[0]?.balance ?? Number.NaN,
      doneBy: jobs.rows.map(({ doneBy }) => doneBy),
    }
  }

  /** Worker A stands still with job 1 in hand, until its lease is over and worker B has done the job. */
  async function stallInside(sections: Sections): Promise<PromiseSettledResult<boolean>> {
    await addJobs(1)
    const stalled = gate()
    const resumed = gate()
    const queue = new JobQueue(pool, sections, async (tx, job, worker) => {
      if (worker === 'A') {
        stalled.open()
        await resumed.passed
      }
      await creditAccount(tx, job, worker)
    })
    const ended = Promise.allSettled([queue.work('1', 'A', 0)])
    await stalled.passed
    const next = queue.work('1', 'B', '60s')
    expect(broker.waiters('job:1')).toBe(1)
    broker.clock.advance('31s')
    expect(await next).toBe(true)
    resumed.open()
    return (await ended)[0]
  }

  it('F1: a worker that stalls past its lease is refused, and its job is done once', async () => {
    const end = await stallInside(fenced(broker))
    expect(end).toMatchObject({ reason: { code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' } })
    expect(await books()).toEqual({ credits: ['1 B'], balance: 100, doneBy: ['B'] })
  })

  it('without the fence the same job is done twice', async () => {
    const end = await stallInside(lockOnly(pool, broker, times))
    expect(end).toEqual({ status: 'fulfilled', value: true })
    expect(await books()).toEqual({ credits: ['1 A', '1 B'], balance: 200, doneBy: ['A'] })
  })

  /** Worker A stands still with its ticket in hand, before its transaction, and does not notice the time pass. */
  async function stallBefore(makeSections: (broker: Broker) => Sections): Promise<PromiseSettledResult<boolean>> {
    await addJobs(1)
    const granted = gate()
    const resumed = gate()
    const slowBroker: Broker = {
      acquire: async (key, options) => {
        const ticket = await broker.acquire(key, options)
        granted.open()
        await resumed.passed
        return ticket
      },
    }
    const ended = Promise.allSettled([new JobQueue(pool, makeSections(slowBroker), creditAccount).work('1', 'A', 0)])
    await granted.passed
    broker.suspendHolder('job:1')
    const next = new JobQueue(pool, makeSections(broker), creditAccount).work('1', 'B', '60s')
    broker.clock.advance('31s')
    expect(await next).toBe(true)
    resumed.open()
    return (await ended)[0]
  }

  it('F2: a worker whose late start nobody noticed is refused by the database', async () => {
    const end = await stallBefore(fenced)
    const [older, newer] = broker.log.filter(({ event }) => event === 'granted')
    expect(end).toMatchObject({ reason: { code: 'FENCE_STALE_TOKEN', token: older?.token, highWater: newer?.token } })
    expect(await books()).toMatchObject({ credits: ['1 B'], balance: 100 })
  })

  it('without the fence the late start gets into the database', async () => {
    const end = await stallBefore((broker) => lockOnly(pool, broker, times))
    expect(end).toEqual({ status: 'fulfilled', value: false })
  })

  it('workers share the jobs, and each is done once', async () => {
    await addJobs(20)
    const queue = new JobQueue(pool, fenced(broker), creditAccount)
    const done = await Promise.all(['A', 'B', 'C'].map((worker) => queue.workOff(worker, noRefusal)))
    expect(
      done
        .flat()
        .map(Number)
        .sort((a, b) => a - b),
    ).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
    const { credits, balance } = await books()
    expect([credits.length, balance]).toEqual([20, 2000])
  })

  it('a worker that stalls leaves its job to the others, and goes on with what is open', async () => {
    await addJobs(3)
    const stalled = gate()
    const resumed = gate()
    let stalls = 0
    const queue = new JobQueue(pool, fenced(broker), async (tx, job, worker) => {
      if (worker === 'A' && stalls++ === 0) {
        stalled.open()
        await resumed.passed
      }
      await creditAccount(tx, job, worker)
    })
    const refused: string[] = []
    const slow = queue.workOff('A', (id) => refused.push(id))
    await stalled.passed
    expect(await queue.work('2', 'B', 0)).toBe(true)
    const next = queue.work('1', 'B', '60s')
    broker.clock.advance('31s')
    expect(await next).toBe(true)
    resumed.open()
    expect(await slow).toEqual(['3'])
    expect(refused).toEqual(['1'])
    expect(await books()).toEqual({ credits: ['1 B', '2 B', '3 A'], balance: 300, doneBy: ['B', 'B', 'A'] })
  })
})

describe('the program', () => {
  const program = fileURLToPath(new URL('../src/main.mjs', import.meta.url))

  it('shows that each job is done once', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [program])
    expect(stdout).toMatch(/^worker A: refused job 1, FENCE_LEASE_EXPIRED: nothing of it was written$/m)
    expect(stdout).toMatch(/^3 jobs, 3 credits, alice has 300: ok$/m)
  })

  it('shows without the fence that one is done twice, and exits with 1', async () => {
    await expect(promisify(execFile)(process.execPath, [program, '--unfenced'])).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^3 jobs, 4 credits, alice has 400: WRONG$/m),
    })
  })
})
