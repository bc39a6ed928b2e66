import { StaleTokenError } from '@ticketing/core'
import { databaseTargets } from '@ticketing/testing/vitest'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { PgFence } from '../src/index.js'
import { BeginFault } from './support/begin-fault.js'
import { CrashWatch } from './support/crash-watch.js'
import { expectHealthy, killBackend } from './support/pool-health.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { rejection, TestBed } from './support/test-bed.js'
import { WireLog } from './support/wire-log.js'
import { textsOf } from './support/wire-texts.js'

const put = 'INSERT INTO account VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET balance = excluded.balance'

/** There every query has its own Sync and is sent at once, so an error skips nothing that was sent behind it. */
describe.each(databaseTargets())('a pool in pipeline mode on $name', (target) => {
  let bed: TestBed
  let pool: pg.Pool
  let fence: PgFence<{ wait: 0; lease: 20; minWork: 0 }>
  const broker = new ScriptedBroker()
  const wire = new WireLog()
  const fault = new BeginFault(wire)
  let key = ''
  let tests = 0
  beforeAll(async () => {
    bed = await TestBed.create(target)
    pool = bed.pool({ max: 1, stream: fault.stream, pipeline: true })
    fence = bed.fence(broker, {}, pool)
  })
  beforeEach(() => {
    key = `account-${++tests}`
    wire.clear()
  })
  afterAll(() => bed[Symbol.asyncDispose]())

  it('F1, F2: accepts a newer token, refuses an equal and a lower one, and then nothing is written', async () => {
    const write = (token: bigint, balance: number) => {
      broker.grantNext(token)
      return fence.run(key, (tx) => tx.query(put, [key, balance]))
    }
    await write(5_000n, 1)
    await write(5_001n, 2)
    for (const token of [5_001n, 5_000n]) {
      const error = await rejection(write(token, 3))
      expect(error).toBeInstanceOf(StaleTokenError)
      expect(error).toMatchObject({ token, highWater: 5_001n })
    }
    expect(await bed.balance(key)).toBe('2')
    expect(await bed.fenceRow(key)).toMatchObject({ token: '5001', previousToken: '5000' })
    await expectHealthy(bed, pool)
  })

  it('F13, F1: a BEGIN that the server refuses is followed by no claim and no write', async () => {
    const work = vi.fn()
    await pool.query('SELECT 1')
    fault.next = 'refused'
    expect(await rejection(fence.run(key, work))).toMatchObject({ code: '42601' })
    expect(work).not.toHaveBeenCalled()
    expect(textsOf(wire).filter((text) => text.includes('ticketing_fence'))).toEqual([])
    expect(await bed.fenceRow(key)).toBeUndefined()
    await expectHealthy(bed, pool)
  })

  it.each([
    ['COMMIT', 'FENCE_TX_ENDED', '1'],
    ['ROLLBACK', 'FENCE_TX_ENDED', undefined],
    ['COMMIT; BEGIN', 'FENCE_TX_ENDED', '1'],
    ['ROLLBACK; BEGIN', 'FENCE_TX_ENDED', undefined],
    ['COMMIT AND CHAIN', 'FENCE_TX_ENDED', '1'],
    ['ROLLBACK AND CHAIN', 'FENCE_TX_ENDED', undefined],
    ['SELECT 1/0', 'FENCE_TX_ABORTED', undefined],
  ])('F12, fault 1: %s inside the section rejects it', async (statement, code, standing) => {
    const error = await rejection(
      fence.run(key, async (tx) => {
        const first = tx.query(put, [key, 1])
        const second = tx.query(statement).catch(() => undefined)
        const third = tx.query(put, [key, 2]).catch(() => undefined)
        await Promise.all([first, second, third])
      }),
    )
    expect(error).toMatchObject({ code, outcome: code === 'FENCE_TX_ENDED' ? 'unknown' : 'not-executed' })
    expect(await bed.balance(key)).toBe(standing)
    await expectHealthy(bed, pool)
  })

  it('F12: savepoints work, and the identity is asked for after ROLLBACK TO', async () => {
    await fence.run(key, async (tx) => {
      await tx.query(put, [key, 1])
      await tx.query('SAVEPOINT a')
      await expect(tx.query('SELECT 1/0')).rejects.toMatchObject({ code: '22012' })
      await tx.query('ROLLBACK TO a')
      await tx.query(put, [key, 2])
    })
    expect(textsOf(wire).filter((text) => text.includes('pg_current_xact_id_if_assigned'))).toHaveLength(1)
    expect(await bed.balance(key)).toBe('2')
    await expectHealthy(bed, pool)
  })

  it('F14: statements of an ended section are refused and not written', async () => {
    let late: Promise<PromiseSettledResult<unknown>[]> | undefined
    const own = new Error('the work fails by itself')
    const error = await rejection(
      fence.run(key, async (tx) => {
        await tx.query(put, [key, 1])
        late = Promise.allSettled([2, 3, 4].map((n) => tx.query(put, [key, n])))
        throw own
      }),
    )
    expect(error).toBe(own)
    expect((await late)?.at(-1)).toMatchObject({ status: 'rejected', reason: { code: 'FENCE_HANDLE_ENDED' } })
    expect(textsOf(wire).at(-1)).toBe('ROLLBACK')
    expect(await bed.balance(key)).toBeUndefined()
    await expectHealthy(bed, pool)
  })

  it('fault 11: a backend that is killed in the work crashes nothing', async () => {
    using watch = new CrashWatch()
    const error = await rejection(
      fence.run(key, async (tx) => {
        await tx.query(put, [key, 1])
        const { rows } = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
        await killBackend(bed, rows[0]?.pid ?? 0)
      }),
    )
    expect(error).toMatchObject({ code: '57P01' })
    expect(await bed.balance(key)).toBeUndefined()
    await fence.run(key, (tx) => tx.query(put, [key, 1]))
    await expectHealthy(bed, pool)
    expect(await watch.crashes()).toEqual([])
  })
})
