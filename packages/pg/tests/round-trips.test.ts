import { databaseTargets } from '@ticketing/testing/vitest'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { PgFence } from '../src/index.js'
import { ChunkLog } from './support/chunk-log.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { TestBed } from './support/test-bed.js'

const add = 'UPDATE account SET balance = balance + $2 WHERE id = $1'

/** One chunk is one round trip: each is written only after the one before it was answered. */
describe.each(databaseTargets())('the round trips of a section on $name', (target) => {
  let bed: TestBed
  let pool: pg.Pool
  let fence: PgFence<{ wait: 0; lease: 20; minWork: 0 }>
  const log = new ChunkLog()
  // Before 17 the bounds go ahead of each statement, under a Sync of their own, in the same chunk.
  const bounds = target.major >= 17 ? '' : 'BDES'

  beforeAll(async () => {
    bed = await TestBed.create(target)
    pool = bed.pool({ max: 1, stream: log.stream })
    fence = bed.fence(new ScriptedBroker(), {}, pool)
    await bed.admin.query("INSERT INTO account VALUES ('a', 0)")
    // The first section also tells the server the fence's prepared statements.
    await fence.run(['a', 'b'], (tx) => tx.query(add, ['a', 1]))
    await fence.run('a', (tx) => tx.query(add, ['a', 1]))
  })
  beforeEach(() => void log.take())
  afterAll(() => bed[Symbol.asyncDispose]())

  it('F1, F12: a section without statements costs two, as BEGIN and COMMIT alone do', async () => {
    await fence.run('a', () => undefined)
    expect(log.take()).toEqual(['PBDEBDES', 'Q'])
    const client = await pool.connect()
    await client.query('BEGIN')
    await client.query('COMMIT')
    client.release()
    expect(log.take()).toHaveLength(2)
  })

  it('F1, F4: each statement costs one more, the bounds before it none', async () => {
    await fence.run('a', async (tx) => {
      await tx.query(add, ['a', 1])
      await tx.query('SELECT 1')
    })
    expect(log.take()).toEqual(['PBDEBDES', `${bounds}PBDES`, `${bounds}Q`, 'Q'])
  })

  it('F8: several keys cost no more than one', async () => {
    await fence.run(['a', 'b'], (tx) => tx.query('SELECT 1'))
    expect(log.take()).toEqual(['PBDEBDES', `${bounds}Q`, 'Q'])
  })

  it('F4: statements that are queued at once still go one by one, each with its own bounds', async () => {
    await fence.run('a', (tx) => Promise.all([tx.query('SELECT 1'), tx.query('SELECT 2')]))
    expect(log.take()).toEqual(['PBDEBDES', `${bounds}Q`, `${bounds}Q`, 'Q'])
  })

  it('F12, F4: ROLLBACK TO costs the bounds anew before 17, and one look at the identity', async () => {
    await fence.run('a', async (tx) => {
      await tx.query('SAVEPOINT a')
      await tx.query('ROLLBACK TO a')
    })
    const again = bounds === '' ? [] : [bounds]
    expect(log.take()).toEqual(['PBDEBDES', `${bounds}Q`, `${bounds}Q`, ...again, 'PBDES', 'Q'])
  })

  it('F15: a section whose work throws costs two: BEGIN with the claim, and ROLLBACK', async () => {
    await fence.run('a', () => Promise.reject(new Error('mine'))).catch(() => undefined)
    expect(log.take()).toEqual(['PBDEBDES', 'Q'])
  })
})
