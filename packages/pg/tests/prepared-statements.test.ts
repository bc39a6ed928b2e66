import { databaseTargets } from '@ticketing/testing/vitest'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { pgFence } from '../src/index.js'
import { expectHealthy } from './support/pool-health.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { rejection, TestBed } from './support/test-bed.js'
import { WireLog } from './support/wire-log.js'
import { textsOf } from './support/wire-texts.js'

const add = 'INSERT INTO account VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET balance = account.balance + 1'

describe.each(databaseTargets())('prepared statements on $name', (target) => {
  let bed: TestBed
  let pool: pg.Pool
  const wire = new WireLog()
  const broker = new ScriptedBroker()
  let key = ''
  let tests = 0
  beforeAll(async () => {
    bed = await TestBed.create(target)
    pool = bed.pool({ max: 1, stream: wire.stream })
  })
  beforeEach(() => {
    key = `account-${++tests}`
    wire.clear()
  })
  afterAll(() => bed[Symbol.asyncDispose]())

  it.each([
    'DISCARD ALL',
    'DEALLOCATE ALL',
    // Its tag does not show what it did, as it is behind a pooler that has changed the server.
    "DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$",
  ])('F1: after %s by the application, the next section works', async (forget) => {
    const destroyed = vi.fn()
    const fence = bed.fence(broker, {}, pool)
    fence.on('connection-destroyed', destroyed)
    const section = () =>
      fence.run(key, async (tx) => {
        await tx.query(add, [key])
        await tx.query(add, [key])
      })
    await section()
    for (let round = 0; round < 2; round++) {
      await pool.query(forget)
      await section()
      await section()
    }
    expect(await bed.balance(key)).toBe('10')
    expect(await bed.fenceRow(key)).toMatchObject({ token: String(broker.lastToken) })
    expect(destroyed).not.toHaveBeenCalled()
    expect(broker.log.filter((entry) => entry === `acquire ${key}`)).toHaveLength(5)
    await expectHealthy(bed, pool)
  })

  it('F4: DEALLOCATE ALL inside a section leaves its later statements, and the next section, whole', async () => {
    const fence = bed.fence(broker, {}, pool)
    for (let round = 0; round < 2; round++) {
      await fence.run(key, async (tx) => {
        await tx.query(add, [key])
        await tx.query('DEALLOCATE ALL')
        await tx.query(add, [key])
      })
    }
    expect(await bed.balance(key)).toBe('4')
    await expectHealthy(bed, pool)
  })

  it('F1: a server that already knows a statement by the claim’s name, as behind a pooler, still takes the claim', async () => {
    const fence = bed.fence(broker, {}, pool)
    await fence.run(key, () => undefined)
    const { rows } = await pool.query<{ name: string }>(
      'SELECT name FROM pg_prepared_statements WHERE statement LIKE \'%INSERT INTO "ticketing_fence"%\'',
    )
    expect(rows.length).toBeGreaterThan(0)
    const taken = bed.pool({ max: 1 })
    for (const { name } of rows) await taken.query(`PREPARE "${name}" AS SELECT 1`)
    const second = bed.fence(broker, {}, taken)
    await second.run(key, (tx) => tx.query(add, [key]))
    await second.run(key, (tx) => tx.query(add, [key]))
    expect(await bed.balance(key)).toBe('2')
    await expectHealthy(bed, taken)
  })

  it('F2: a claim that is refused after DISCARD ALL is refused as stale', async () => {
    const fence = bed.fence(broker, {}, pool)
    await fence.run(key, () => undefined)
    await pool.query('DISCARD ALL')
    broker.grantNext(broker.lastToken)
    expect(await rejection(fence.run(key, (tx) => tx.query(add, [key])))).toMatchObject({ code: 'FENCE_STALE_TOKEN' })
    expect(await bed.balance(key)).toBeUndefined()
    await expectHealthy(bed, pool)
  })

  it('F1, F4: with prepare: false no statement of the fence has a name, and a section works', async () => {
    const fence = bed.fence(broker, { prepare: false }, pool)
    await pool.query('DISCARD ALL')
    for (let round = 0; round < 2; round++) {
      wire.clear()
      await fence.run(key, async (tx) => {
        await tx.query(add, [key])
        const { rows } = await tx.query<{ name: string }>('SELECT name FROM pg_prepared_statements')
        expect(rows).toEqual([])
      })
      expect(textsOf(wire)[1]).toContain('INSERT INTO "ticketing_fence"')
    }
    expect(await bed.balance(key)).toBe('2')
  })

  it('F1: a connection that lives long keeps few prepared statements', async () => {
    const fence = bed.fence(broker, {}, pool)
    await pool.query('DISCARD ALL')
    for (let round = 0; round < 5; round++) {
      await fence.run(key, async (tx) => await tx.query(add, [key]))
      await fence.run([key, `${key}-${round}`], async (tx) => await tx.query(add, [key]))
    }
    const { rows } = await pool.query<{ name: string }>('SELECT name FROM pg_prepared_statements')
    expect(rows).toHaveLength(target.major >= 17 ? 2 : 3)
  })

  it('F1, F9: two fences with different tables share one pool, and keep different high-waters', async () => {
    await bed.admin.query('CREATE SCHEMA other')
    const first = bed.fence(broker, {}, pool)
    const second = pgFence(pool, { broker, table: 'other.fence', defaults: { wait: 0, lease: 20, minWork: 0 } })
    await second.migrate()
    for (const [fence, token] of [
      [first, 900_100n],
      [second, 900_050n],
      [first, 900_200n],
      [second, 900_060n],
    ] as const) {
      broker.grantNext(token)
      await fence.run(key, (tx) => tx.query(add, [key]))
    }
    expect(await bed.fenceRow(key)).toMatchObject({ token: '900200', previousToken: '900100' })
    expect(await bed.fenceRow(key, 'other.fence')).toMatchObject({ token: '900060', previousToken: '900050' })
    expect(await bed.balance(key)).toBe('4')
    await expectHealthy(bed, pool)
  })
})
