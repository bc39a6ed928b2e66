import { databaseTargets } from '@ticketing/testing/vitest'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { PgFence } from '../src/index.js'
import { expectHealthy } from './support/pool-health.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { until, untilBlocked } from './support/server-view.js'
import { rejection, TestBed } from './support/test-bed.js'
import { WireLog } from './support/wire-log.js'
import { textsOf } from './support/wire-texts.js'

const add = 'UPDATE account SET balance = balance + 1 WHERE id = $1'

describe.each(databaseTargets())('errors of the work and the caller’s signal on $name', (target) => {
  let bed: TestBed
  let pool: pg.Pool
  let fence: PgFence<{ wait: 0; lease: 20; minWork: 0 }>
  const broker = new ScriptedBroker()
  const wire = new WireLog()
  const destroyed = vi.fn()
  let key = ''
  let sections = 0

  beforeAll(async () => {
    bed = await TestBed.create(target)
    await bed.admin.query(`
      CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END $$;
      CREATE TABLE slow (id int);
      CREATE CONSTRAINT TRIGGER sleep AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION sleep()`)
    pool = bed.pool({ max: 1, stream: wire.stream })
    fence = bed.fence(broker, {}, pool)
    fence.on('connection-destroyed', destroyed)
  })
  beforeEach(async () => {
    key = `account-${++sections}`
    await bed.admin.query('INSERT INTO account VALUES ($1, 10)', [key])
    destroyed.mockClear()
    broker.log.length = 0
    wire.clear()
  })
  afterAll(() => bed[Symbol.asyncDispose]())

  const expectUntouched = async () => {
    expect(await bed.balance(key)).toBe('10')
    expect(await bed.fenceRow(key)).toBeUndefined()
    expect(broker.log).toEqual([`acquire ${key}`, `release ${key}`])
    expect(destroyed).not.toHaveBeenCalled()
    await expectHealthy(bed, pool)
  }

  it.each([
    ['an error', new Error('the work fails by itself')],
    ['a frozen error', Object.freeze(new TypeError('frozen'))],
    ['an error that looks like a serialisation failure', Object.assign(new Error('mine'), { code: '40001' })],
    ['an abort of its own', new DOMException('mine', 'AbortError')],
    ['a text', 'a text'],
    ['null', null],
    ['undefined', undefined],
    ['an object', { code: 7 }],
  ])('F15: %s thrown by the work reaches the caller as the same value, and nothing is written', async (_, thrown) => {
    const caught = fence.run(key, { retries: 3 }, async (tx) => {
      await tx.query(add, [key])
      throw thrown as Error
    })
    await expect(
      caught.then(
        () => 'resolved',
        (error: unknown) => ({ error }),
      ),
    ).resolves.toEqual({ error: thrown })
    expect(await caught.catch((error: unknown) => error)).toBe(thrown)
    await expectUntouched()
  })

  it('F15: the database’s own error reaches the caller as the object that the statement threw', async () => {
    let thrown: unknown
    const error = await rejection(
      fence.run(key, async (tx) => {
        await tx.query(add, [key])
        thrown = await rejection(tx.query('INSERT INTO account VALUES ($1, 1)', [key]))
        throw thrown
      }),
    )
    expect(error).toBe(thrown)
    expect(error).toMatchObject({ code: '23505', table: 'account' })
    await expectUntouched()
  })

  it('F15: aborted before it starts, a section takes neither ticket nor connection', async () => {
    const reason = new Error('not any more')
    expect(await rejection(fence.run(key, { signal: AbortSignal.abort(reason) }, () => undefined))).toBe(reason)
    expect(broker.log).toEqual([])
    expect(wire.messages).toEqual([])
  })

  it('F15: aborted while it waits for a connection, it takes none, and the one that comes late goes back', async () => {
    const client = await pool.connect()
    const controller = new AbortController()
    const reason = new Error('not any more')
    const work = vi.fn()
    const section = rejection(fence.run(key, { signal: controller.signal }, work))
    await until('a section that waits for a connection', async () => pool.waitingCount === 1)
    controller.abort(reason)
    expect(await section).toBe(reason)
    expect(broker.log).toEqual([`acquire ${key}`, `release ${key}`])
    wire.clear()
    client.release()
    await expectUntouched()
    expect(work).not.toHaveBeenCalled()
    expect(textsOf(wire)).not.toContain('BEGIN')
  })

  it('F15: aborted while its claim waits for the row, it claims nothing and its connection goes back', async () => {
    const controller = new AbortController()
    const reason = new Error('not any more')
    const work = vi.fn()
    const blocker = await bed.admin.connect()
    await blocker.query('BEGIN')
    await blocker.query("INSERT INTO ticketing_fence VALUES ($1, 1, '', NULL, NULL, now())", [Buffer.from(key)])
    const section = rejection(fence.run(key, { signal: controller.signal }, work))
    await untilBlocked(bed.admin)
    controller.abort(reason)
    await blocker.query('ROLLBACK')
    blocker.release()
    expect(await section).toBe(reason)
    expect(work).not.toHaveBeenCalled()
    expect(textsOf(wire).at(-1)).toBe('ROLLBACK')
    await expectUntouched()
  })

  it.each(['between its statements', 'in a statement', 'as it returns'] as const)(
    'F15: aborted %s, it rolls back and rejects with the signal’s reason',
    async (when) => {
      const controller = new AbortController()
      const section = rejection(
        fence.run(key, { signal: controller.signal }, async (tx) => {
          await tx.query(add, [key])
          if (when === 'in a statement') {
            const statement = tx.query('SELECT pg_sleep(0.1)')
            await until('the statement on the wire', async () => textsOf(wire).at(-1) === 'SELECT pg_sleep(0.1)')
            controller.abort()
            await statement
          }
          controller.abort()
          if (when === 'between its statements') await new Promise(() => undefined)
          return 'done'
        }),
      )
      expect(await section).toBe(controller.signal.reason)
      expect(textsOf(wire).at(-1)).toBe('ROLLBACK')
      await expectUntouched()
    },
  )

  it('F15: once COMMIT is on its way, the signal has no effect', async () => {
    const controller = new AbortController()
    const section = fence.run(key, { signal: controller.signal }, async (tx) => {
      await tx.query(add, [key])
      await tx.query('INSERT INTO slow VALUES (1)')
      return 'done'
    })
    const settled = vi.fn()
    section.then(settled, settled)
    await until('COMMIT on the wire', async () => textsOf(wire).at(-1) === 'COMMIT')
    controller.abort()
    expect(settled).not.toHaveBeenCalled()
    expect(await section).toBe('done')
    expect(await bed.balance(key)).toBe('11')
    expect(await bed.fenceRow(key)).toMatchObject({ token: String(broker.lastToken) })
    expect(broker.log).toEqual([`acquire ${key}`, `release ${key}`])
    await expectHealthy(bed, pool)
  })
})
