import type { FenceEvents } from '@ticketing/core'
import { databaseTargets } from '@ticketing/testing/vitest'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { PgFence } from '../src/index.js'
import { BeginFault } from './support/begin-fault.js'
import { BlackHole } from './support/black-hole.js'
import { expectHealthy, killBackend } from './support/pool-health.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { rejection, TestBed } from './support/test-bed.js'
import { WireLog } from './support/wire-log.js'
import { textsOf } from './support/wire-texts.js'

const put = 'INSERT INTO account VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET balance = excluded.balance'

describe.each(databaseTargets())('a connection that fails on $name', (target) => {
  let bed: TestBed
  let destroyed: FenceEvents['connection-destroyed'][] = []
  const broker = new ScriptedBroker()
  beforeAll(async () => {
    bed = await TestBed.create(target)
  })
  beforeEach(() => {
    destroyed = []
  })
  afterAll(() => bed[Symbol.asyncDispose]())

  const listened = (pool: pg.Pool) => {
    const fence = bed.fence(broker, {}, pool)
    fence.on('connection-destroyed', (event) => destroyed.push(event))
    return fence
  }
  const pidOf = (fence: PgFence<{ wait: 0; lease: 20; minWork: 0 }>) =>
    fence.run(
      'pid',
      async (tx) => (await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid ?? 0,
    )

  it('F13, F15, fault 19: ROLLBACK fails since the backend was killed: the work’s own error is thrown', async () => {
    const pool = bed.pool({ max: 1 })
    const fence = listened(pool)
    const own = new Error('the work fails by itself')
    let pid = 0
    const error = await rejection(
      fence.run('killed', async (tx) => {
        const { rows } = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
        pid = rows[0]?.pid ?? 0
        await tx.query(put, ['killed', 1])
        await killBackend(bed, pid)
        throw own
      }),
    )
    expect(error).toBe(own)
    expect(destroyed).toHaveLength(1)
    expect(broker.log.at(-1)).toBe('release killed')
    expect(await pidOf(fence)).not.toBe(pid)
    expect(await bed.balance('killed')).toBeUndefined()
    await expectHealthy(bed, pool)
  })

  it.each(['cut', 'refused'] as const)('F13, F1: BEGIN is %s: no claim, no work, nothing written', async (how) => {
    const wire = new WireLog()
    const fault = new BeginFault(wire)
    const pool = bed.pool({ max: 1, stream: fault.stream })
    const fence = listened(pool)
    const pid = await pidOf(fence)
    const work = vi.fn()
    const key = `begin-${how}`
    fault.next = how
    const error = await rejection(fence.run(key, work))
    expect(error).toMatchObject(
      how === 'refused' ? { code: '42601' } : { message: 'Connection terminated unexpectedly' },
    )
    expect(work).not.toHaveBeenCalled()
    expect(await bed.fenceRow(key)).toBeUndefined()
    expect(destroyed).toHaveLength(1)
    expect(await pidOf(fence)).not.toBe(pid)
    await expectHealthy(bed, pool)
  })

  it.each([
    ['open', 'SELECT 1'],
    ['aborted', 'SELECT 1/0'],
  ])(
    'F13, fault 4: a connection that its pool hands out in the middle of an %s transaction is destroyed',
    async (...given) => {
      const [state, statement] = given
      const wire = new WireLog()
      const pool = bed.pool({ max: 2, stream: wire.stream })
      const fence = listened(pool)
      const client = await pool.connect()
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      await client.query('BEGIN')
      await client.query(put, [`left-open-${state}`, 1])
      await client.query(statement).catch(() => undefined)
      wire.clear()
      client.release()
      const pid = await fence.run(`handed-out-${state}`, async (tx) => {
        await tx.query(put, [`handed-out-${state}`, 2])
        return (await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid
      })
      expect(pid).not.toBe(rows[0]?.pid)
      expect(destroyed).toHaveLength(1)
      expect(pool.totalCount).toBe(1)
      expect(textsOf(wire)[0]).toBe('BEGIN')
      expect(await bed.balance(`handed-out-${state}`)).toBe('2')
      expect(await bed.balance(`left-open-${state}`)).toBeUndefined()
      await expectHealthy(bed, pool)
    },
  )

  describe('when the network goes silent', () => {
    let hole: BlackHole
    const wire = new WireLog()
    let pool: pg.Pool
    beforeAll(async () => {
      hole = await BlackHole.before(bed.url)
      pool = bed.pool({ connectionString: hole.url, max: 1, stream: wire.stream })
    })
    afterAll(() => hole[Symbol.asyncDispose]())

    /** Timers go by the test's orders; sockets and the event loop stay real. */
    const withManualTimers = async (test: () => Promise<void>) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      try {
        await test()
      } finally {
        vi.useRealTimers()
        hole.reopen()
      }
    }
    const untilSent = async (text: string) => {
      for (let turns = 0; textsOf(wire).at(-1) !== text; turns++) {
        if (turns > 100_000) throw new Error(`${text} was not sent; the last was ${textsOf(wire).at(-1)}.`)
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    const settledAfter = async (section: Promise<unknown>, milliseconds: number) => {
      const settled = vi.fn()
      section.then(settled, settled)
      await vi.advanceTimersByTimeAsync(milliseconds - 1)
      expect(settled).not.toHaveBeenCalled()
      expect(pool.totalCount).toBe(1)
      await vi.advanceTimersByTimeAsync(1)
      return await section
    }

    it('F13, F6: COMMIT is waited for for 30 s; then its outcome is unknown and its connection destroyed', async () => {
      const fence = listened(pool)
      await withManualTimers(async () => {
        const section = rejection(
          fence.run('silent-commit', { lease: 100, retries: 3 }, async (tx) => {
            await tx.query(put, ['silent-commit', 1])
            hole.swallow()
          }),
        )
        await untilSent('COMMIT')
        const error = await settledAfter(section, 30_000)
        expect(error).toMatchObject({ code: 'FENCE_COMMIT_UNKNOWN', outcome: 'unknown' })
        expect(destroyed).toEqual([{ error: (error as Error).cause }])
        expect(pool.totalCount).toBe(0)
      })
      await expectHealthy(bed, pool)
    })

    it('F13, F15: ROLLBACK is waited for for 5 s; then its connection is destroyed and the work’s error thrown', async () => {
      const fence = listened(pool)
      const own = new Error('the work fails by itself')
      let late: Promise<unknown> | undefined
      await withManualTimers(async () => {
        const section = rejection(
          fence.run('silent-rollback', async (tx) => {
            await tx.query(put, ['silent-rollback', 1])
            late = untilSent('ROLLBACK').then(() => rejection(tx.query('SELECT 1')))
            hole.swallow()
            throw own
          }),
        )
        await untilSent('ROLLBACK')
        expect(await settledAfter(section, 5_000)).toBe(own)
        expect(destroyed).toHaveLength(1)
        expect(pool.totalCount).toBe(0)
      })
      expect(await late).toMatchObject({ code: 'FENCE_HANDLE_ENDED' })
      expect(await bed.balance('silent-rollback')).toBeUndefined()
      await expectHealthy(bed, pool)
    })

    it('F13, F14: the 5 s hold also where a statement is never answered, and ROLLBACK is not sent behind it', async () => {
      const fence = listened(pool)
      const own = new Error('the work fails by itself')
      let statement: Promise<unknown> | undefined
      let behind: Promise<unknown> | undefined
      await withManualTimers(async () => {
        const section = rejection(
          fence.run('silent-statement', async (tx) => {
            await tx.query('SELECT 1')
            hole.swallow()
            statement = rejection(tx.query('SELECT 2'))
            behind = rejection(tx.query('SELECT 3'))
            await untilSent('SELECT 2')
            throw own
          }),
        )
        await untilSent('SELECT 2')
        expect(await settledAfter(section, 5_000)).toBe(own)
        expect(textsOf(wire).at(-1)).toBe('SELECT 2')
        expect(pool.totalCount).toBe(0)
      })
      expect(await statement).toBeInstanceOf(Error)
      expect(await behind).toMatchObject({ code: 'FENCE_HANDLE_ENDED' })
      await expectHealthy(bed, pool)
    })
  })
})
