import { databaseTargets } from '@ticketing/testing/vitest'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { PgFence, PgTransaction } from '../src/index.js'
import { CrashWatch } from './support/crash-watch.js'
import { expectHealthy, killBackend } from './support/pool-health.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { until, untilBlocked } from './support/server-view.js'
import { rejection, TestBed } from './support/test-bed.js'

const add = 'INSERT INTO account VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET balance = account.balance + 1'
const killed = { code: '57P01', severity: 'FATAL' }

describe.each(databaseTargets())('a backend that is killed on $name', (target) => {
  let bed: TestBed
  let pool: pg.Pool
  let fence: PgFence<{ wait: 0; lease: 20; minWork: 0 }>
  const broker = new ScriptedBroker()
  const destroyed = vi.fn()
  let key = ''
  let tests = 0

  beforeAll(async () => {
    bed = await TestBed.create(target)
    pool = bed.pool({ max: 1 })
    fence = bed.fence(broker, {}, pool)
    fence.on('connection-destroyed', destroyed)
  })
  beforeEach(() => {
    key = `account-${++tests}`
    broker.log.length = 0
    destroyed.mockClear()
  })
  afterAll(() => bed[Symbol.asyncDispose]())

  const pidIn = async (tx: PgTransaction) =>
    (await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid ?? 0

  /** Nothing crashed, nothing is written, the ticket and the connection are gone, and the pool serves the next section. */
  const expectContained = async (watch: CrashWatch) => {
    expect(destroyed).toHaveBeenCalledTimes(1)
    expect(broker.log).toEqual([`acquire ${key}`, `release ${key}`])
    expect(await bed.balance(key)).toBeUndefined()
    expect(await bed.fenceRow(key)).toBeUndefined()
    await fence.run(key, (tx) => tx.query(add, [key]))
    expect(await bed.balance(key)).toBe('1')
    await expectHealthy(bed, pool)
    expect(await watch.crashes()).toEqual([])
  }

  it.each([
    ['between statements, and its work sends another', true],
    ['between statements, and its work notices nothing', false],
  ])('fault 11, F12: %s', async (_, sendsAnother) => {
    using watch = new CrashWatch()
    const error = await rejection(
      fence.run(key, async (tx) => {
        await tx.query(add, [key])
        await killBackend(bed, await pidIn(tx))
        if (sendsAnother) await tx.query('SELECT 1')
        return 'done'
      }),
    )
    // What ended the connection is the error that counts, unless the work's own statement has failed with another.
    if (!sendsAnother) expect(error).toMatchObject(killed)
    expect(error).toBeInstanceOf(Error)
    await expectContained(watch)
  })

  it('fault 11, F15: in a statement, whose error reaches the caller as the same object', async () => {
    using watch = new CrashWatch()
    let pid = 0
    let thrown: unknown
    const section = rejection(
      fence.run(key, async (tx) => {
        await tx.query(add, [key])
        pid = await pidIn(tx)
        thrown = await rejection(tx.query('SELECT pg_sleep(20)'))
        throw thrown
      }),
    )
    await until('the statement', async () => {
      const { rows } = await bed.admin.query(
        `SELECT FROM pg_stat_activity WHERE pid = $1 AND state = 'active' AND wait_event = 'PgSleep'`,
        [pid],
      )
      return rows.length === 1
    })
    await killBackend(bed, pid)
    const error = await section
    expect(error).toBe(thrown)
    expect(error).toMatchObject(killed)
    await expectContained(watch)
  })

  it('fault 11, F12: in a statement whose error the work catches', async () => {
    using watch = new CrashWatch()
    const error = await rejection(
      fence.run(key, async (tx) => {
        await tx.query(add, [key])
        await tx.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => undefined)
        return 'done'
      }),
    )
    expect(error).toMatchObject(killed)
    await expectContained(watch)
  })

  it('fault 11: with statements in flight that nobody awaits', async () => {
    using watch = new CrashWatch()
    let stray: Promise<PromiseSettledResult<unknown>[]> | undefined
    const error = await rejection(
      fence.run(key, async (tx) => {
        await tx.query(add, [key])
        stray = Promise.allSettled([
          tx.query('SELECT pg_terminate_backend(pg_backend_pid())'),
          tx.query(add, [key]),
          tx.query(add, [key]),
        ])
      }),
    )
    expect(error).toBeInstanceOf(Error)
    expect((await stray)?.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    await expectContained(watch)
  })

  it('fault 11, F1: while its claim waits for the row', async () => {
    using watch = new CrashWatch()
    const work = vi.fn()
    const blocker = await bed.admin.connect()
    await blocker.query('BEGIN')
    await blocker.query("INSERT INTO ticketing_fence VALUES ($1, 1, '', NULL, NULL, now())", [Buffer.from(key)])
    const section = rejection(fence.run(key, work))
    await untilBlocked(bed.admin)
    const { rows } = await bed.admin.query<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
    await killBackend(bed, rows[0]?.pid ?? 0)
    expect(await section).toMatchObject(killed)
    await blocker.query('ROLLBACK')
    blocker.release()
    expect(work).not.toHaveBeenCalled()
    await expectContained(watch)
  })

  it('fault 11: while its connection is idle in the pool between two sections', async () => {
    using watch = new CrashWatch()
    const pid = await fence.run(key, pidIn)
    await killBackend(bed, pid)
    await until('the pool to drop the connection', async () => pool.totalCount === 0)
    expect(await fence.run(key, pidIn)).not.toBe(pid)
    expect(destroyed).not.toHaveBeenCalled()
    await expectHealthy(bed, pool)
    expect(await watch.crashes()).toEqual([])
  })

  it('fault 11: while the pool is on its way with a connection that is already dead', async () => {
    using watch = new CrashWatch()
    const pid = await fence.run(key, pidIn)
    broker.log.length = 0
    // Gone on the server before BEGIN is sent; whether the pool knows it by then is left to chance, as it is in life.
    await bed.admin.query('SELECT pg_terminate_backend($1)', [pid])
    const outcome = await fence.run(key, pidIn).catch((error: unknown) => error)
    if (outcome instanceof Error) expect(destroyed).toHaveBeenCalledTimes(1)
    else expect(outcome).not.toBe(pid)
    expect(broker.log).toEqual([`acquire ${key}`, `release ${key}`])
    await expectHealthy(bed, pool)
    expect(await watch.crashes()).toEqual([])
  })
})
