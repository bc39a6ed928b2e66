import { FenceError, type FenceEvents } from '@ticketing/core'
import { databaseTargets } from '@ticketing/testing/vitest'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PgFence } from '../src/index.js'
import { expectHealthy, killBackend } from './support/pool-health.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { until } from './support/server-view.js'
import { rejection, TestBed } from './support/test-bed.js'

const put = 'INSERT INTO account VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET balance = excluded.balance'
const sleepingSeconds = 0.7

describe.each(databaseTargets())('a COMMIT that fails on $name', (target) => {
  let bed: TestBed
  const broker = new ScriptedBroker()
  beforeAll(async () => {
    bed = await TestBed.create(target)
    await bed.admin.query(`
      CREATE TABLE transfer (id text PRIMARY KEY, account text REFERENCES account DEFERRABLE INITIALLY DEFERRED);
      CREATE TABLE slow (id text PRIMARY KEY);
      CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep(${sleepingSeconds}); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER sleep AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION sleep()`)
  })
  afterAll(() => bed[Symbol.asyncDispose]())

  const listened = (pool: pg.Pool) => {
    const fence = bed.fence(broker, {}, pool)
    const destroyed: FenceEvents['connection-destroyed'][] = []
    const retries: FenceEvents['retry'][] = []
    fence.on('connection-destroyed', (event) => destroyed.push(event))
    fence.on('retry', (event) => retries.push(event))
    return { fence, destroyed, retries }
  }
  const pidOf = (fence: PgFence<{ wait: 0; lease: 20; minWork: 0 }>) =>
    fence.run(
      'pid',
      async (tx) => (await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid ?? 0,
    )
  const sleepingCommit = async () => {
    const { rows } = await bed.admin.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = 'COMMIT' AND wait_event = 'PgSleep'`,
    )
    return rows[0]?.pid
  }

  it('F12, F13, fault 2: a deferred constraint refuses COMMIT: it failed, for certain, and nothing is written', async () => {
    const pool = bed.pool({ max: 1 })
    const { fence, destroyed } = listened(pool)
    const pid = await pidOf(fence)
    const error = await rejection(
      fence.run('deferred', async (tx) => {
        await tx.query(put, ['deferred', 1])
        await tx.query("INSERT INTO transfer VALUES ('deferred', 'nobody')")
        return 'done'
      }),
    )
    expect(error).toBeInstanceOf(FenceError)
    expect(error).toMatchObject({ code: 'FENCE_COMMIT_FAILED', outcome: 'not-executed', cause: { code: '23503' } })
    expect(await bed.balance('deferred')).toBeUndefined()
    expect(await bed.fenceRow('deferred')).toBeUndefined()
    expect(destroyed).toEqual([{ error: (error as Error).cause }])
    expect(await pidOf(fence)).not.toBe(pid)
    await expectHealthy(bed, pool)
  })

  it.each([
    ['without retries it failed', 0],
    ['with retries: 1 it is run again and succeeds', 1],
  ])('F5, fault 2: a serialisation failure at COMMIT: %s', async (_, retries) => {
    const key = `skew-${retries}`
    const other = `${key}-other`
    const pool = bed.pool({ max: 1 })
    const { fence, retries: reported } = listened(pool)
    await bed.admin.query('INSERT INTO account VALUES ($1, 10), ($2, 10)', [key, other])
    const rival = await bed.admin.connect()
    const read = 'SELECT sum(balance)::int AS sum FROM account WHERE id IN ($1, $2)'
    let runs = 0
    const section = fence.run(key, { isolation: 'serializable', retries }, async (tx) => {
      const sum = (await tx.query<{ sum: number }>(read, [key, other])).rows[0]?.sum
      if (++runs === 1) {
        await rival.query('BEGIN ISOLATION LEVEL SERIALIZABLE')
        await rival.query(read, [key, other])
        await rival.query('UPDATE account SET balance = 0 WHERE id = $1', [other])
      }
      await tx.query('UPDATE account SET balance = $2 WHERE id = $1', [key, sum])
      if (runs === 1) await rival.query('COMMIT')
      return runs
    })
    try {
      if (retries === 0) {
        const error = await rejection(section)
        expect(error).toMatchObject({ code: 'FENCE_COMMIT_FAILED', outcome: 'not-executed', cause: { code: '40001' } })
        expect(await bed.balance(key)).toBe('10')
        expect(await bed.fenceRow(key)).toBeUndefined()
        expect(runs).toBe(1)
      } else {
        expect(await section).toBe(2)
        expect(await bed.balance(key)).toBe('10')
        expect(await bed.fenceRow(key)).toMatchObject({ token: String(broker.lastToken), previousToken: null })
        expect(reported).toMatchObject([{ keys: [key], attempt: 1, of: 'work' }])
      }
      expect(broker.log.filter((entry) => entry.endsWith(` ${key}`))).toEqual([`acquire ${key}`, `release ${key}`])
    } finally {
      rival.release()
    }
    await expectHealthy(bed, pool)
  })

  it('F13, F6, fault 4: COMMIT that times out in the driver while the server runs it: unknown, and its connection is gone', async () => {
    const pool = bed.pool({ max: 1, query_timeout: 200 })
    const { fence, destroyed } = listened(pool)
    const pid = await pidOf(fence)
    const error = await rejection(
      fence.run('timed-out', { retries: 5 }, async (tx) => {
        await tx.query(put, ['timed-out', 1])
        await tx.query("INSERT INTO slow VALUES ('timed-out')")
      }),
    )
    expect(error).toBeInstanceOf(FenceError)
    expect(error).toMatchObject({ code: 'FENCE_COMMIT_UNKNOWN', outcome: 'unknown' })
    expect(pool.totalCount).toBe(0)
    expect(destroyed).toEqual([{ error: (error as Error).cause }])
    expect(await sleepingCommit()).toBe(pid)
    expect(await bed.balance('timed-out')).toBeUndefined()
    expect(await pidOf(fence)).not.toBe(pid)
    await until('the row of the COMMIT that nobody waits for', () => bed.balance('timed-out'))
    expect(await bed.fenceRow('timed-out')).toMatchObject({ previousToken: null })
    await expectHealthy(bed, pool)
  })

  it('F13, F6, fault 2: the backend is killed in its COMMIT: unknown, never a success', async () => {
    const pool = bed.pool({ max: 1 })
    const { fence, destroyed } = listened(pool)
    const section = rejection(
      fence.run('killed', { retries: 5 }, async (tx) => {
        await tx.query(put, ['killed', 1])
        await tx.query("INSERT INTO slow VALUES ('killed')")
      }),
    )
    await killBackend(bed, await until('the COMMIT', sleepingCommit))
    const error = await section
    expect(error).toMatchObject({ code: 'FENCE_COMMIT_UNKNOWN', outcome: 'unknown', cause: { code: '57P01' } })
    expect(destroyed).toEqual([{ error: (error as Error).cause }])
    expect(await bed.balance('killed')).toBeUndefined()
    await expectHealthy(bed, pool)
  })

  it('F10, fault 16: the ticket is released once COMMIT is answered, not while it runs', async () => {
    const seen: unknown[] = []
    broker.onRelease = async () => {
      seen.push(await bed.balance('slow-end'))
      return 'released'
    }
    try {
      await bed.fence(broker).run('slow-end', async (tx) => {
        await tx.query(put, ['slow-end', 1])
        await tx.query("INSERT INTO slow VALUES ('slow-end')")
      })
      await until('the release', async () => seen.length > 0)
    } finally {
      broker.onRelease = undefined
    }
    expect(seen).toEqual(['1'])
  })
})
