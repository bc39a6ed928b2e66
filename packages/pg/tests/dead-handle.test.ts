import { databaseTargets } from '@ticketing/testing/vitest'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { PgFence, PgTransaction } from '../src/index.js'
import { CrashWatch } from './support/crash-watch.js'
import { expectHealthy } from './support/pool-health.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { rejection, TestBed } from './support/test-bed.js'
import { WireLog } from './support/wire-log.js'
import { textsOf } from './support/wire-texts.js'

const insert = 'INSERT INTO entry VALUES ($1, $2)'
const ended = { code: 'FENCE_HANDLE_ENDED', outcome: 'not-executed' }

describe.each(databaseTargets())('a transaction handle after its section on $name', (target) => {
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
    await bed.admin.query('CREATE TABLE entry (key text NOT NULL, n int NOT NULL)')
  })
  beforeEach(() => {
    key = `key-${++sections}`
    broker.leaseSeconds = undefined
    wire.clear()
  })
  afterAll(() => bed[Symbol.asyncDispose]())

  const entries = async () => {
    const { rows } = await bed.admin.query<{ n: number }>('SELECT n FROM entry WHERE key = $1 ORDER BY n', [key])
    return rows.map(({ n }) => n)
  }
  const untilSent = async (part: string) => {
    for (let turns = 0; !textsOf(wire).some((text) => text.includes(part)); turns++) {
      if (turns > 100_000) throw new Error(`${part} was not sent.`)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Work that nobody awaits: writes one entry after the other until three of them were refused. */
  class StrayWriter {
    accepted = 0
    readonly refused: unknown[] = []
    readonly done: Promise<void>

    constructor(tx: PgTransaction) {
      this.done = this.#write(tx)
    }

    async hasWritten(): Promise<void> {
      while (this.accepted < 3 && this.refused.length === 0) await new Promise((resolve) => setImmediate(resolve))
    }

    async #write(tx: PgTransaction): Promise<void> {
      while (this.refused.length < 3) {
        try {
          await tx.query(insert, [key, this.accepted])
          this.accepted++
        } catch (error) {
          this.refused.push(error)
        }
      }
    }
  }

  it.each(['returned', 'threw', 'was aborted', 'lost its lease'] as const)(
    'F14, fault 3: a writer that nobody awaits goes on after the section %s: refused, never autocommitted',
    async (how) => {
      using watch = new CrashWatch()
      const controller = new AbortController()
      const own = new Error('the work fails by itself')
      let writer: StrayWriter | undefined
      let handle: PgTransaction | undefined
      if (how === 'lost its lease') broker.leaseSeconds = 0.5
      const section = fence.run(key, { signal: controller.signal }, async (tx) => {
        handle = tx
        writer = new StrayWriter(tx)
        await writer.hasWritten()
        if (how === 'threw') throw own
        if (how === 'returned') return
        if (how === 'was aborted') controller.abort(own)
        await new Promise(() => undefined)
      })
      if (how === 'returned') await section
      else if (how === 'lost its lease') expect(await rejection(section)).toMatchObject({ code: 'FENCE_LEASE_EXPIRED' })
      else expect(await rejection(section)).toBe(own)

      const sentAtEnd = wire.messages.length
      await writer?.done
      expect(await rejection(handle?.query(insert, [key, -1]) as Promise<unknown>)).toMatchObject(ended)
      if (how !== 'lost its lease') expect(writer?.refused).toMatchObject([ended, ended, ended])
      expect(wire.messages.length).toBe(sentAtEnd)
      const texts = textsOf(wire)
      const end = texts.findIndex((text) => text === 'COMMIT' || text === 'ROLLBACK')
      // The database may have ended the connection by its own bound before ROLLBACK could be sent.
      if (how !== 'lost its lease') expect(end).toBeGreaterThan(0)
      expect(end === -1 ? [] : texts.slice(end + 1)).toEqual([])
      expect(await entries()).toEqual(how === 'returned' ? [...Array(writer?.accepted).keys()] : [])
      await expectHealthy(bed, pool)
      expect(await watch.crashes()).toEqual([])
    },
  )

  it('F14: the handle of an ended section stays dead while its connection serves the next one', async () => {
    let first: PgTransaction['query'] | undefined
    await fence.run(key, ({ query }) => {
      first = query
    })
    await fence.run(`${key}-next`, async (tx) => {
      await tx.query(insert, [key, 1])
      expect(await rejection(first?.(insert, [key, 2]) as Promise<unknown>)).toMatchObject(ended)
    })
    expect(await entries()).toEqual([1])
  })

  it('F14: statements that are queued when the work throws are never sent', async () => {
    const own = new Error('the work fails by itself')
    let queued: Promise<PromiseSettledResult<unknown>[]> | undefined
    const section = fence.run(key, async (tx) => {
      queued = Promise.allSettled([
        tx.query(`SELECT pg_sleep(0.1), '${key}'`),
        ...[1, 2, 3].map((n) => tx.query(insert, [key, n])),
      ])
      await untilSent('pg_sleep')
      throw own
    })
    expect(await rejection(section)).toBe(own)
    expect(await queued).toMatchObject([
      { status: 'fulfilled' },
      ...Array(3).fill({ status: 'rejected', reason: ended }),
    ])
    expect(textsOf(wire).filter((text) => text === insert)).toEqual([])
    expect(textsOf(wire).at(-1)).toBe('ROLLBACK')
    expect(await entries()).toEqual([])
    await expectHealthy(bed, pool)
  })

  it('F14: a statement on its way when the work returns is complete before COMMIT; one behind it is refused', async () => {
    let late: Promise<PromiseSettledResult<unknown>[]> | undefined
    const answered: string[] = []
    await fence.run(key, async (tx) => {
      const slow = tx.query('INSERT INTO entry SELECT $1, 1 FROM pg_sleep(0.1)', [key])
      late = Promise.allSettled([slow, tx.query(insert, [key, 2])])
      void slow.then(() => answered.push(textsOf(wire).at(-1) ?? ''))
      await untilSent('pg_sleep')
    })
    expect(await late).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: ended }])
    expect(answered).toEqual(['INSERT INTO entry SELECT $1, 1 FROM pg_sleep(0.1)'])
    expect(textsOf(wire).at(-1)).toBe('COMMIT')
    expect(await entries()).toEqual([1])
    await expectHealthy(bed, pool)
  })

  it('F14, F12: a statement on its way that fails after the work returned makes the section fail', async () => {
    using watch = new CrashWatch()
    let stray: Promise<unknown> | undefined
    const error = await rejection(
      fence.run(key, async (tx) => {
        await tx.query(insert, [key, 1])
        stray = rejection(tx.query('SELECT 1 / length(pg_sleep(0.1)::text)'))
        await untilSent('pg_sleep')
        return 'done'
      }),
    )
    expect(error).toMatchObject({ code: 'FENCE_TX_ABORTED', outcome: 'not-executed', cause: { code: '22012' } })
    expect(await stray).toBe((error as Error).cause)
    expect(await entries()).toEqual([])
    await expectHealthy(bed, pool)
    expect(await watch.crashes()).toEqual([])
  })

  it('F14: a statement that comes while COMMIT is on its way is refused', async () => {
    let late: Promise<unknown> | undefined
    const section = fence.run(key, async (tx) => {
      await tx.query(insert, [key, 1])
      late = untilSent('COMMIT').then(() => rejection(tx.query(insert, [key, 2])))
    })
    await section
    expect(await late).toMatchObject(ended)
    expect(textsOf(wire).at(-1)).toBe('COMMIT')
    expect(await entries()).toEqual([1])
  })
})
