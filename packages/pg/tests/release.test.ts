import { TicketBroker } from '@ticketing/client'
import type { FenceEvents } from '@ticketing/core'
import { startServer } from '@ticketing/server'
import { databaseTargets } from '@ticketing/testing/vitest'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { BlackHole } from './support/black-hole.js'
import { CrashWatch } from './support/crash-watch.js'
import { expectHealthy } from './support/pool-health.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { until } from './support/server-view.js'
import { rejection, TestBed } from './support/test-bed.js'
import { WireLog } from './support/wire-log.js'
import { textsOf } from './support/wire-texts.js'

const add = 'INSERT INTO account VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET balance = account.balance + 1'

describe.each(databaseTargets())('the release behind a transaction on $name', (target) => {
  let bed: TestBed
  let pool: pg.Pool
  let broker: ScriptedBroker
  const wire = new WireLog()
  let key = ''
  let tests = 0
  beforeAll(async () => {
    bed = await TestBed.create(target)
    pool = bed.pool({ max: 1, stream: wire.stream })
  })
  beforeEach(() => {
    key = `account-${++tests}`
    broker = new ScriptedBroker()
    wire.clear()
  })
  afterAll(() => bed[Symbol.asyncDispose]())

  it.each(['returns', 'throws'] as const)(
    'F10, fault 16: where the work %s, the release comes when no transaction of the section is open any more',
    async (how) => {
      const open: unknown[] = []
      broker.onRelease = async () => {
        const { rows } = await bed.admin.query<{ state: string }>(
          `SELECT state FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL
             AND pid <> pg_backend_pid()`,
        )
        open.push(rows)
        return 'released'
      }
      const fence = bed.fence(broker, {}, pool)
      const section = fence.run(key, async (tx) => {
        await tx.query(add, [key])
        if (how === 'throws') throw new Error('mine')
      })
      await section.catch(() => undefined)
      await until('the release', async () => open.length > 0)
      expect(open).toEqual([[]])
      expect(textsOf(wire).at(-1)).toBe(how === 'throws' ? 'ROLLBACK' : 'COMMIT')
      expect(await bed.balance(key)).toBe(how === 'throws' ? undefined : '1')
    },
  )

  it.each([
    ['rejects', () => Promise.reject(new Error('no answer'))],
    [
      'throws at once',
      () => {
        throw new Error('no answer')
      },
    ],
  ])(
    'F10, fault 8: a release that %s changes neither a success nor a failure; it is reported on the side',
    async (...given) => {
      const [, onRelease] = given
      using watch = new CrashWatch()
      const warn = vi.fn()
      const fence = bed.fence(broker, { logger: { warn } }, pool)
      const failed: FenceEvents['release-failed'][] = []
      fence.on('release-failed', (event) => failed.push(event))
      fence.on('release-failed', () => {
        throw new Error('a listener that fails')
      })
      broker.onRelease = onRelease
      expect(
        await fence.run(key, async (tx) => {
          await tx.query(add, [key])
          return 'done'
        }),
      ).toBe('done')
      const own = new Error('the work fails by itself')
      expect(await rejection(fence.run(key, () => Promise.reject(own)))).toBe(own)
      await until('both reports', async () => failed.length === 2)
      const { lastToken } = broker
      expect(failed).toMatchObject([
        { key, token: lastToken - 1n, error: { message: 'no answer' } },
        { key, token: lastToken, error: { message: 'no answer' } },
      ])
      expect(warn).toHaveBeenCalledTimes(2)
      expect(await bed.balance(key)).toBe('1')
      await expectHealthy(bed, pool)
      expect(await watch.crashes()).toEqual([])
    },
  )

  it('F10: a release that never settles holds nobody up', async () => {
    broker.onRelease = () => new Promise(() => undefined)
    const fence = bed.fence(broker, {}, pool)
    for (let round = 0; round < 3; round++) await fence.run(key, (tx) => tx.query(add, [key]))
    expect(await bed.balance(key)).toBe('3')
    await expectHealthy(bed, pool)
  })

  it('F10: a lock server that falls silent before the release holds nobody up', async () => {
    await using server = await startServer({ listen: '127.0.0.1:0' })
    await using hole = await BlackHole.before(`tcp://${server.address}`)
    const real = TicketBroker.connect(new URL(hole.url).host)
    const fence = bed.fence(real, {}, pool)
    const failed = vi.fn()
    fence.on('release-failed', failed)
    await fence.run(key, async (tx) => {
      await tx.query(add, [key])
      hole.swallow()
    })
    expect(failed).not.toHaveBeenCalled()
    expect(await bed.balance(key)).toBe('1')
    hole.reopen()
    await real.close()
    await expectHealthy(bed, pool)
  })
})
