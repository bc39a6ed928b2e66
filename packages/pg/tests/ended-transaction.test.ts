import { Socket } from 'node:net'
import { FenceError } from '@ticketing/core'
import { databaseTargets } from '@ticketing/testing/vitest'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { PgFence, PgQueryConfig } from '../src/index.js'
import { dripping } from './support/drip.js'
import { expectHealthy } from './support/pool-health.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { rejection, TestBed } from './support/test-bed.js'
import { WireLog } from './support/wire-log.js'
import { textsOf } from './support/wire-texts.js'

const put = 'INSERT INTO account VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET balance = excluded.balance'

describe.each(databaseTargets())('a transaction that its work ended or lost, on $name', (target) => {
  let bed: TestBed
  let pool: pg.Pool
  let fence: PgFence<{ wait: 0; lease: 20; minWork: 0 }>
  const broker = new ScriptedBroker()
  const wire = new WireLog()
  let key = ''
  let sections = 0

  beforeAll(async () => {
    bed = await TestBed.create(target)
    pool = bed.pool({ max: 1, stream: wire.stream })
    fence = bed.fence(broker, {}, pool)
    await bed.admin.query('CREATE PROCEDURE committing() LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$')
  })
  beforeEach(() => {
    key = `account-${++sections}`
    wire.clear()
  })
  afterAll(() => bed[Symbol.asyncDispose]())

  /** Writes 1, runs the statements, tries to write 2, and returns as if all had gone well; errors are caught. */
  const section = (statements: readonly (string | PgQueryConfig)[]) => {
    const errors: unknown[] = []
    const caught = (error: unknown) => {
      errors.push(error)
    }
    const ended = rejection(
      fence.run(key, async (tx) => {
        await tx.query(put, [key, 1])
        for (const statement of statements) {
          await (typeof statement === 'string' ? tx.query(statement) : tx.query(statement)).catch(caught)
        }
        await tx.query(put, [key, 2]).catch(caught)
        return 'done'
      }),
    )
    return ended.then((error) => ({ error, caught: errors as { code?: string }[] }))
  }

  it.each<[string, (string | PgQueryConfig)[], '1' | undefined]>([
    ['COMMIT', ['COMMIT'], '1'],
    ['END', ['end work'], '1'],
    ['COMMIT as a prepared statement', [{ name: 'ends', text: 'COMMIT' }], '1'],
    ['ROLLBACK', ['ROLLBACK'], undefined],
    ['ABORT', ['ABORT'], undefined],
    ['COMMIT; BEGIN', ['COMMIT; BEGIN'], '1'],
    ['COMMIT, then BEGIN', ['COMMIT', 'BEGIN'], '1'],
    ['ROLLBACK; BEGIN', ['ROLLBACK; BEGIN'], undefined],
    ['ROLLBACK; START TRANSACTION', ['ROLLBACK; START TRANSACTION ISOLATION LEVEL SERIALIZABLE'], undefined],
    ['ROLLBACK, then BEGIN', ['ROLLBACK', 'BEGIN'], undefined],
    ['COMMIT AND CHAIN', ['COMMIT AND CHAIN'], '1'],
    ['COMMIT AND CHAIN behind a savepoint', ['SAVEPOINT a', 'ROLLBACK TO a', 'COMMIT AND CHAIN'], '1'],
    ['ROLLBACK behind a statement error', ['SELECT 1/0', 'ROLLBACK'], undefined],
    ['ROLLBACK; BEGIN behind a statement error', ['SELECT 1/0', 'ROLLBACK; BEGIN'], undefined],
    ['COMMIT behind a statement error', ['SELECT 1/0', 'COMMIT; BEGIN'], undefined],
    ['COMMIT between other statements', ['SELECT 1; COMMIT; BEGIN; SELECT 2'], '1'],
  ])('F12, fault 1: %s inside the section rejects it; what it committed stands, nothing after it', async (...given) => {
    const [, statements, standing] = given
    const { error, caught } = await section(statements)
    expect(error).toBeInstanceOf(FenceError)
    expect(error).toMatchObject({ code: 'FENCE_TX_ENDED', outcome: 'unknown' })
    expect(caught.at(-1)).toMatchObject({ code: 'FENCE_TX_ENDED' })
    expect(await bed.balance(key)).toBe(standing)
    expect((await bed.fenceRow(key))?.token).toBe(standing === undefined ? undefined : String(broker.lastToken))
    expect(broker.log.at(-1)).toBe(`release ${key}`)
    await expectHealthy(bed, pool)
  })

  it.each<[string, string[]]>([
    ['ROLLBACK AND CHAIN', ['ROLLBACK AND CHAIN']],
    ['ROLLBACK AND CHAIN behind a savepoint', ['SAVEPOINT a', 'ROLLBACK TO a', 'ROLLBACK AND CHAIN']],
    ['ROLLBACK AND CHAIN behind a statement error', ['SELECT 1/0', 'ROLLBACK AND CHAIN']],
    ['ROLLBACK AND CHAIN before a savepoint', ['ROLLBACK AND CHAIN', 'SAVEPOINT a', 'ROLLBACK TO a']],
  ])(
    'F12: %s leaves a transaction open that never claimed; its identity tells, and nothing stands',
    async (...given) => {
      const [, statements] = given
      const { error, caught } = await section(statements)
      expect(error).toMatchObject({ code: 'FENCE_TX_ENDED', outcome: 'unknown' })
      // The replies look sound, so the write that followed was let through; the section took it back.
      expect(caught.filter(({ code }) => code !== '22012')).toEqual([])
      expect(textsOf(wire).slice(-2)).toEqual([
        expect.stringMatching(/^SELECT pg_current_xact_id_if_assigned/),
        'ROLLBACK',
      ])
      expect(await bed.balance(key)).toBeUndefined()
      expect(await bed.fenceRow(key)).toBeUndefined()
      await expectHealthy(bed, pool)
    },
  )

  it.each<[string, string[], string]>([
    ['a statement error', ['SELECT 1/0'], '22012'],
    ['a syntax error', ['SELEC'], '42601'],
    ['a statement error and more statements', ['SELECT 1/0', 'SELECT 1', 'SELEC'], '22012'],
    ['a DO block that commits', ['DO $$ BEGIN COMMIT; END $$'], '2D000'],
    ['a DO block that rolls back', ['DO $$ BEGIN ROLLBACK; END $$'], '2D000'],
    ['a procedure that commits', ['CALL committing()'], '2D000'],
    ['an error behind a savepoint', ['SAVEPOINT a', 'SELECT 1/0'], '22012'],
    ['an error behind a mended one', ['SAVEPOINT a', 'SELEC', 'ROLLBACK TO a', 'SELECT 1/0'], '22012'],
    ['a savepoint that does not exist', ['ROLLBACK TO nowhere'], '3B001'],
  ])('F12, fault 1: %s that the work caught rejects the section, and nothing is written', async (...given) => {
    const [, statements, sqlState] = given
    const { error } = await section(statements)
    expect(error).toBeInstanceOf(FenceError)
    expect(error).toMatchObject({ code: 'FENCE_TX_ABORTED', outcome: 'not-executed', cause: { code: sqlState } })
    expect(textsOf(wire).at(-1)).toBe('ROLLBACK')
    expect(await bed.balance(key)).toBeUndefined()
    expect(await bed.fenceRow(key)).toBeUndefined()
    await expectHealthy(bed, pool)
  })

  it('F12, fault 1: the state is read when the reply is complete, however late its last bytes come', async () => {
    const slow = bed.pool({ max: 1, stream: () => dripping(new Socket()) })
    const ends = async (statement: string) =>
      await rejection(
        bed.fence(broker, {}, slow).run(key, async (tx) => {
          await tx.query(put, [key, 1])
          // The driver tells an error before the reply's end, which alone shows what became of the transaction.
          await tx.query(statement).catch(() => undefined)
        }),
      )
    expect(await ends('SELECT 1/0')).toMatchObject({ code: 'FENCE_TX_ABORTED', cause: { code: '22012' } })
    expect(await ends('ROLLBACK; SELECT 1/0')).toMatchObject({ code: 'FENCE_TX_ENDED' })
    expect(await bed.balance(key)).toBeUndefined()
    await expectHealthy(bed, slow)
  })

  it('F12: PREPARE TRANSACTION rejects the section, whether or not the server allows it', async () => {
    const setting = await bed.admin.query<{ max_prepared_transactions: string }>('SHOW max_prepared_transactions')
    const allowed = setting.rows[0]?.max_prepared_transactions !== '0'
    const gid = `taken-away-${key}`
    const { error } = await section([`PREPARE TRANSACTION '${gid}'`])
    const { rowCount } = await bed.admin.query('SELECT FROM pg_prepared_xacts WHERE gid = $1', [gid])
    expect(rowCount).toBe(allowed ? 1 : 0)
    if (allowed) await bed.admin.query(`COMMIT PREPARED '${gid}'`)
    // Where it is not allowed, the server rolls the transaction back, which ends it too.
    expect(error).toMatchObject({ code: 'FENCE_TX_ENDED', outcome: 'unknown' })
    expect(await bed.balance(key)).toBe(allowed ? '1' : undefined)
    await expectHealthy(bed, pool)
  })

  it.each<[string, string[], number]>([
    ['no savepoint', [], 0],
    ['SAVEPOINT and RELEASE', ['SAVEPOINT a', 'SELECT 1', 'RELEASE a'], 0],
    ['SAVEPOINT alone', ['SAVEPOINT a'], 0],
    ['ROLLBACK TO', ['SAVEPOINT a', 'SELECT 1', 'ROLLBACK TO a'], 1],
    ['ROLLBACK TO behind an error', ['SAVEPOINT a', 'SELECT 1/0', 'ROLLBACK TO a'], 1],
    ['nested ones', ['SAVEPOINT a', 'SAVEPOINT b', 'SELEC', 'ROLLBACK TO b', 'RELEASE b', 'ROLLBACK TO a'], 1],
    ['ROLLBACK TO in one text', ['SAVEPOINT a; SELECT 1; ROLLBACK TO a; RELEASE a'], 1],
    ['an error, ROLLBACK TO and RELEASE', ['SAVEPOINT a', 'SELECT 1/0', 'ROLLBACK TO a; RELEASE a'], 1],
  ])(
    'F12: %s leaves the section whole; its identity is asked for exactly when the replies cannot tell',
    async (...given) => {
      const [, statements, checks] = given
      const result = await fence.run(key, async (tx) => {
        await tx.query(put, [key, 1])
        for (const statement of statements) await tx.query(statement).catch(() => undefined)
        await tx.query('UPDATE account SET balance = balance + 1 WHERE id = $1', [key])
        return 'done'
      })
      expect(result).toBe('done')
      expect(textsOf(wire).filter((text) => text.includes('pg_current_xact_id_if_assigned'))).toHaveLength(checks)
      expect(textsOf(wire).at(-1)).toBe('COMMIT')
      expect(await bed.balance(key)).toBe('2')
      expect(await bed.fenceRow(key)).toMatchObject({ token: String(broker.lastToken) })
      await expectHealthy(bed, pool)
    },
  )

  it('F12: what a savepoint took back is not written, what came before and after it is', async () => {
    await fence.run(key, async (tx) => {
      await tx.query(put, [key, 1])
      await tx.query('SAVEPOINT a')
      await tx.query(put, [`${key}-undone`, 1])
      await expect(tx.query('INSERT INTO account VALUES ($1, 1)', [key])).rejects.toMatchObject({ code: '23505' })
      await tx.query('ROLLBACK TO a')
      await tx.query(put, [`${key}-after`, 3])
    })
    expect(await bed.balance(key)).toBe('1')
    expect(await bed.balance(`${key}-undone`)).toBeUndefined()
    expect(await bed.balance(`${key}-after`)).toBe('3')
  })
})
