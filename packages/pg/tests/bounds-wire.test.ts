import { randomUUID } from 'node:crypto'
import { databaseTargets } from '@ticketing/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noSignal, reshapedTickets } from './support/reshaped-tickets.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { until } from './support/server-view.js'
import { rejection, TestBed } from './support/test-bed.js'
import { WireLog } from './support/wire-log.js'

/** One prepared statement with its Sync; a simple query. */
const bounds = 'BDES'
const simple = 'Q'

describe.each(databaseTargets())('how bounds travel on $name', (target) => {
  const resent = target.major < 17
  /** What the work's statement looks like, behind its bounds where they are sent again. */
  const bounded = resent ? bounds + simple : simple
  let bed: TestBed
  beforeAll(async () => {
    bed = await TestBed.create(target)
  })
  afterAll(() => bed[Symbol.asyncDispose]())

  /** A pool of one whose connection has prepared the fence's statements. */
  async function warm(wire: WireLog, broker = new ScriptedBroker()) {
    const pool = bed.pool({ max: 1, stream: wire.stream })
    const fence = bed.fence(broker, {}, pool)
    await fence.run(`warm-${randomUUID()}`, (tx) => tx.query('SELECT 1'))
    wire.clear()
    return { pool, fence }
  }
  /** The parameters of the re-sent bounds: the only statement of the fence with a single one. */
  const resentBounds = (wire: WireLog) =>
    wire.messages.flatMap(({ values }) => (values?.length === 1 ? [Number(values[0])] : []))

  it('F4: before 17 every statement has the remaining lease before it, under its own Sync; later once is enough', async () => {
    const wire = new WireLog()
    const { fence } = await warm(wire)
    const types = await fence.run('resent', async (tx) => {
      wire.clear()
      await tx.query('SELECT pg_sleep(0.02)')
      await tx.query('SELECT pg_sleep(0.02)')
      await tx.query('SELECT $1::text', ['with values'])
      return wire.types
    })
    expect(types).toBe(resent ? `${bounds}Q${bounds}Q${bounds}PBDES` : 'QQPBDES')
    const values = resentBounds(wire).slice(0, 3)
    if (resent) {
      expect(values).toHaveLength(3)
      expect(values[0]).toBeLessThanOrEqual(20_000)
      expect(values[1]).toBeLessThanOrEqual((values[0] ?? 0) - 20)
      expect(values[2]).toBeLessThanOrEqual((values[1] ?? 0) - 20)
    }
  })

  it('F4: after ROLLBACK TO they are sent again at once, and none in an aborted transaction', async () => {
    const wire = new WireLog()
    const { fence } = await warm(wire)
    const types = await fence.run('savepoint', async (tx) => {
      const seen: string[] = []
      const send = async (text: string) => {
        wire.clear()
        await tx.query(text).catch(() => undefined)
        seen.push(wire.types)
      }
      for (const text of ['SAVEPOINT s', 'ROLLBACK TO s', 'SELECT 1/0', 'ROLLBACK TO SAVEPOINT s', 'SELECT 1']) {
        await send(text)
      }
      return seen
    })
    const again = resent ? bounds : ''
    expect(types).toEqual([bounded, bounded + again, bounded, simple + again, bounded])
  })

  it('F4: what ROLLBACK TO brought back does not hold: the next idle spell is bounded by what remains', async () => {
    const blind = reshapedTickets(new ScriptedBroker(), () => ({ signal: noSignal }))
    const started = performance.now()
    const error = await rejection(
      bed.fence(blind).run('back', { lease: 1 }, async (tx) => {
        const { rows } = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
        await tx.query('SAVEPOINT s')
        await tx.query('SELECT pg_sleep(0.7)')
        await tx.query('ROLLBACK TO s')
        // Idle until the database ends the connection, which it must do within the lease.
        await until('the end of the backend', async () => {
          const found = await bed.admin.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [rows[0]?.pid])
          return found.rowCount === 0
        })
        return await tx.query('SELECT 1')
      }),
    )
    expect(performance.now() - started).toBeLessThan(1_500)
    expect(error).toMatchObject({ code: 'FENCE_LEASE_EXPIRED' })
  })

  it('F4: a bound is never 0, which would mean none', async () => {
    const wire = new WireLog()
    const broker = new ScriptedBroker()
    const { pool } = await warm(wire, broker)
    const nearlyOver = reshapedTickets(broker, () => ({ signal: noSignal, remaining: () => 0.0015 }))
    const keys = Array.from({ length: 64 }, (_, index) => `never-${index}`)
    const sent: (string | null)[] = []
    for (const given of [keys, ['never']]) {
      wire.clear()
      // The database may well end such a transaction before its first statement; what was sent is the point.
      await bed
        .fence(nearlyOver, {}, pool)
        .run(given, (tx) => tx.query('SELECT 1'))
        .catch(() => undefined)
      const claim = wire.messages.find(({ values }) => values?.length === 5)
      sent.push(...(claim?.values?.slice(0, 2) ?? []))
      for (const again of resentBounds(wire)) expect(again).toBe(1)
    }
    expect(sent).toEqual(['1', '1', '1', '1'])
  })

  it('F4: with less than a millisecond left the section is refused and nothing is sent', async () => {
    const wire = new WireLog()
    const broker = new ScriptedBroker()
    const { pool } = await warm(wire, broker)
    const over = reshapedTickets(broker, () => ({ signal: noSignal, remaining: () => 0.0009 }))
    const error = await rejection(bed.fence(over, {}, pool).run('over', () => undefined))
    expect(error).toMatchObject({ code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' })
    expect(wire.bytes).toBe(0)
  })
})
