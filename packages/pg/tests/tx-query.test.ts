import { databaseTargets } from '@ticketing/testing/vitest'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { PgFence, PgQueryConfig, PgTransaction } from '../src/index.js'
import { expectHealthy } from './support/pool-health.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { rejection, TestBed } from './support/test-bed.js'
import { WireLog } from './support/wire-log.js'

const rows = "SELECT n, 'row ' || n AS name, n % 2 = 0 AS even FROM generate_series(1, 3) AS n"

describe.each(databaseTargets())('the query of a section on $name', (target) => {
  let bed: TestBed
  let pool: pg.Pool
  let fence: PgFence<{ wait: 0; lease: 20; minWork: 0 }>
  const wire = new WireLog()
  beforeAll(async () => {
    bed = await TestBed.create(target)
    pool = bed.pool({ max: 1, stream: wire.stream })
    fence = bed.fence(new ScriptedBroker(), {}, pool)
  })
  beforeEach(() => wire.clear())
  afterAll(() => bed[Symbol.asyncDispose]())

  it.each<[string, string | PgQueryConfig, unknown[]?]>([
    ['a text', rows],
    [
      'a text with values',
      'SELECT $1::int AS n, $2::text AS t, $3::jsonb AS j, $4::bytea AS b',
      [7, 'é', { a: [1] }, Buffer.from([0, 255])],
    ],
    ['values of null and undefined', 'SELECT $1::text AS a, $2::text AS b', [null, undefined]],
    ['an array and a date', 'SELECT $1::text[] AS a, $2::timestamptz AS d', [['x', 'y"z'], new Date(0)]],
    ['a config', { text: 'SELECT $1::bigint AS n', values: ['9007199254740993'] }],
    ['a config and values', { text: 'SELECT $1::int AS n' }, [1]],
    ['a tagged template, with accessors', new TaggedStatement(['SELECT ', '::int AS n, ', '::text AS t'], [1, 'x'])],
    ['a named config', { name: 'rows', text: rows }],
    ['rows as arrays', { text: rows, rowMode: 'array' }],
    ['its own types', { text: 'SELECT 1::bigint AS n', types: { getTypeParser: () => BigInt } }],
    ['several statements', `${rows}; SELECT 2 AS two`],
    ['many comments before it', `${'/* a ** comment */ -- and\n'.repeat(100)} SELECT 1 AS n`],
    ['no rows', 'SELECT 1 AS n WHERE false'],
    ['no columns', 'SELECT'],
    ['an empty statement', ';'],
    ['a statement without rows', "SET LOCAL application_name = 'x'"],
    ['written rows', "INSERT INTO account VALUES ('written', 1) RETURNING *"],
    ['written rows that are not returned', "INSERT INTO account VALUES ('w1', 1), ('w2', 2)"],
  ])('F1: %s: the result equals that of plain pg', async (_, config, values) => {
    // In transactions that are rolled back, so that both start from the same rows.
    const client = await bed.pool({ max: 1 }).connect()
    await client.query('BEGIN')
    const expected: unknown = await client.query(config as string, values)
    await client.query('ROLLBACK')
    client.release()
    let result: unknown
    const undo = new Error('undo')
    const error = await rejection(
      fence.run('compare', async (tx) => {
        result = await (tx.query as (config: unknown, values?: unknown) => Promise<unknown>)(config, values)
        throw undo
      }),
    )
    expect(error).toBe(undo)
    expect(plain(result)).toEqual(plain(expected))
  })

  it('F1: a named config stays a prepared statement of its connection over several sections', async () => {
    const text = 'SELECT $1::int + 1 AS n'
    for (const n of [1, 2]) {
      wire.clear()
      const result = await fence.run('named', (tx) => tx.query<{ n: number }>({ name: 'kept', text, values: [n] }))
      expect(result.rows).toEqual([{ n: n + 1 }])
      expect(wire.messages.filter((message) => message.text === text)).toHaveLength(n === 1 ? 1 : 0)
    }
    const changed = await rejection(fence.run('named', (tx) => tx.query({ name: 'kept', text: 'SELECT 2' })))
    expect((changed as Error).message).toContain('Prepared statements must be unique')
    await expectHealthy(bed, pool)
  })

  it('F13, fault 12: a statement’s own query_timeout ends the wait, and the section is not reported as done', async () => {
    const error = await rejection(
      fence.run('impatient', async (tx) => {
        await tx.query("INSERT INTO account VALUES ('impatient', 1)")
        await tx.query({ text: 'SELECT pg_sleep(0.3)', query_timeout: 50 })
      }),
    )
    expect((error as Error).message).toBe('Query read timeout')
    expect(wire.messages.at(-1)).toEqual({ type: 'Q', text: 'ROLLBACK' })
    expect(await bed.balance('impatient')).toBeUndefined()
    await expectHealthy(bed, pool)
  })

  it('F1: the stack of a database error leads to the statement’s caller', async () => {
    const error = await rejection(
      fence.run('stack', async (tx) => {
        await tx.query('SELEC')
      }),
    )
    expect((error as Error).stack).toContain('tx-query.test.ts')
  })

  const refused: [string, (tx: LooseTransaction) => unknown, string][] = [
    ['a callback', (tx) => tx.query('SELECT 1', vi.fn()), 'takes no callback'],
    ['a callback behind values', (tx) => tx.query('SELECT 1', [], vi.fn()), 'takes no callback'],
    ['a query object of pg', (tx) => tx.query(new pg.Query('SELECT 1')), 'takes no query object'],
    ['a cursor', (tx) => tx.query({ text: 'SELECT 1', submit: vi.fn() }), 'takes no query object'],
    ['COPY', (tx) => tx.query('COPY account FROM STDIN'), 'COPY is not possible'],
    ['COPY behind comments', (tx) => tx.query('-- a\n /* b */ copy account TO STDOUT'), 'COPY is not possible'],
    ['COPY in a config', (tx) => tx.query({ text: 'COPY account TO STDOUT' }), 'COPY is not possible'],
    ['no text', (tx) => tx.query({}), 'must have a text'],
    ['an empty text', (tx) => tx.query(''), 'must have a text'],
    ['nothing', (tx) => tx.query(undefined), 'must be a text'],
    ['values that are no list', (tx) => tx.query('SELECT $1', 'a'), 'values: must be an array'],
  ]
  it.each(refused)('F14: %s is refused before a byte is sent, and the section goes on', async (_, query, message) => {
    await fence.run('refusals', async (tx) => {
      const sent = wire.messages.length
      const error = await rejection(Promise.resolve(query(tx as unknown as LooseTransaction)))
      expect(error).toMatchObject({ code: 'FENCE_INVALID_ARGUMENT', outcome: 'not-executed' })
      expect((error as Error).message).toContain(message)
      expect(wire.messages.length).toBe(sent)
      await tx.query('SELECT 1')
    })
    await expectHealthy(bed, pool)
  })

  it.each([
    ['into the database', 'SELECT 1; COPY account FROM STDIN'],
    ['out of it', 'SELECT 1; COPY account TO STDOUT'],
  ])('F14: COPY %s that hides behind another statement does not hang the section', async (_, text) => {
    const outcome = await fence
      .run('hidden-copy', (tx) => tx.query(text))
      .then(
        () => 'done',
        (error: unknown) => (error as { code?: string }).code,
      )
    expect(outcome).toBe(text.includes('FROM') ? '57014' : 'done')
    await expectHealthy(bed, pool)
  })

  it('F14: the handle has nothing but query, and nobody can change it', async () => {
    await fence.run('frozen', (tx) => {
      expect(Object.keys(tx)).toEqual(['query'])
      expect(Object.isFrozen(tx)).toBe(true)
    })
  })
})

/** As the tagged templates of sql-template-strings are: its text is an accessor of the class. */
class TaggedStatement {
  readonly strings: readonly string[]
  readonly values: readonly unknown[]

  constructor(strings: readonly string[], values: readonly unknown[]) {
    this.strings = strings
    this.values = values
  }

  get text(): string {
    return this.strings.reduce((text, next, index) => `${text}$${index}${next}`)
  }
}

/** The handle as JavaScript sees it. */
interface LooseTransaction extends Omit<PgTransaction, 'query'> {
  query(...args: unknown[]): Promise<unknown>
}

/** What a caller reads of a result. */
function plain(result: unknown): unknown {
  if (Array.isArray(result)) return result.map(plain)
  const { rows, rowCount, command, oid, fields } = result as pg.QueryResult
  return { rows, rowCount, command, oid, fields }
}
