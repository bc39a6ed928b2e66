import { TicketBroker } from '@ticketing/client'
import { startServer, type TicketingServer } from '@ticketing/server'
import { databaseTargets } from '@ticketing/testing/vitest'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pgFence } from '../src/index.js'
import { CrashWatch } from './support/crash-watch.js'
import { expectHealthy } from './support/pool-health.js'
import { until } from './support/server-view.js'
import { rejection, TestBed } from './support/test-bed.js'

const add = 'INSERT INTO account VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET balance = account.balance + 1'

describe.each(databaseTargets())('a pool of one connection and a real lock server on $name', (target) => {
  let bed: TestBed
  let server: TicketingServer
  let broker: TicketBroker
  let pool: pg.Pool
  beforeAll(async () => {
    bed = await TestBed.create(target)
    server = await startServer({ listen: '127.0.0.1:0' })
    broker = TicketBroker.connect(server.address)
    await broker.waitReady(10)
    pool = bed.pool({ max: 1 })
  })
  afterAll(async () => {
    await broker.close()
    await server.close()
    await bed[Symbol.asyncDispose]()
  })
  const fenceOn = (pool: pg.Pool) => pgFence(pool, { broker, defaults: { wait: 20, lease: 20, minWork: 1 } })

  it.each([
    ['on one key', 1],
    ['on five keys', 5],
    ['on twenty keys', 20],
  ])('F3, fault 13: twenty sections at once %s all finish, and no increment is lost', async (_, keys) => {
    using watch = new CrashWatch()
    const fence = fenceOn(pool)
    const key = (n: number) => `of-${keys}-${n % keys}`
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        fence.run(key(n), async (tx) => {
          // Read, then written: only the lock keeps two sections apart here.
          const { rows } = await tx.query<{ balance: string }>('SELECT balance FROM account WHERE id = $1', [key(n)])
          const next = Number(rows[0]?.balance ?? 0) + 1
          await tx.query(
            'INSERT INTO account VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET balance = excluded.balance',
            [key(n), next],
          )
        }),
      ),
    )
    for (let n = 0; n < keys; n++) expect(await bed.balance(key(n))).toBe(String(20 / keys))
    await expectHealthy(bed, pool)
    expect(await watch.crashes()).toEqual([])
  })

  it('F8, fault 13: twenty sections at once on overlapping pairs of keys all finish', async () => {
    const fence = fenceOn(pool)
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        fence.run([`pair-${n % 4}`, `pair-${(n + 1) % 4}`], (tx) => tx.query(add, ['pairs'])),
      ),
    )
    expect(await bed.balance('pairs')).toBe('20')
    await expectHealthy(bed, pool)
  })

  it('F9: a section inside a section is refused at once, whatever its key, and the outer one may still succeed', async () => {
    const fence = fenceOn(pool)
    const twin = fenceOn(pool)
    await fence.run('outer', async (tx) => {
      await tx.query(add, ['outer'])
      for (const [inner, key] of [
        [fence, 'outer'],
        [fence, 'inner'],
        [twin, 'inner'],
      ] as const) {
        const error = await rejection(inner.run(key, () => undefined))
        expect(error).toMatchObject({ code: 'FENCE_NESTED', outcome: 'not-executed' })
      }
    })
    expect(await bed.balance('outer')).toBe('1')
    expect(await bed.fenceRow('inner')).toBeUndefined()
    await expectHealthy(bed, pool)
  })

  it('F9, F14: work that outlives its section may start one of its own', async () => {
    const fence = fenceOn(pool)
    let later: Promise<unknown> | undefined
    let end = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    await fence.run('first', () => {
      later = ended.then(() => fence.run('later', (tx) => tx.query(add, ['later'])))
    })
    end()
    await later
    expect(await bed.balance('later')).toBe('1')
    await expectHealthy(bed, pool)
  })

  it.each<[string, (add: () => Promise<unknown>, rollback: () => Promise<unknown>) => Promise<unknown>]>([
    ['fails', async (add) => await add().then(() => Promise.reject(new Error('mine')))],
    ['catches a statement error', async (add) => await add().then(add)],
    ['ends its transaction', async (add, rollback) => await add().then(rollback)],
  ])('F12, F13: after a section whose work %s, those that wait for the connection go on', async (how, work) => {
    const fence = fenceOn(pool)
    const id = `after-${how.replaceAll(' ', '-')}`
    const insert = 'INSERT INTO account VALUES ($1, 1)'
    const failing = rejection(
      fence.run(`${id}-failing`, (tx) =>
        work(
          () => tx.query(insert, [id]).catch(() => undefined),
          () => tx.query('ROLLBACK'),
        ),
      ),
    )
    const waiting = [1, 2, 3].map((n) => fence.run(`${id}-${n}`, (tx) => tx.query(insert, [`${id}-${n}`])))
    expect(await failing).toBeInstanceOf(Error)
    await Promise.all(waiting)
    expect(await bed.balance(id)).toBeUndefined()
    for (const n of [1, 2, 3]) expect(await bed.balance(`${id}-${n}`)).toBe('1')
    await expectHealthy(bed, pool)
  })

  it('F10: the key is free again when the section’s COMMIT is confirmed: one that waits for it goes on by itself', async () => {
    const fence = fenceOn(pool)
    const order: string[] = []
    const first = fence.run('next', async (tx) => {
      order.push('first')
      await tx.query('SELECT pg_sleep(0.05)')
    })
    await until('the first section', async () => order.length === 1)
    await fence.run('next', () => {
      order.push('second')
    })
    await first
    expect(order).toEqual(['first', 'second'])
  })
})
