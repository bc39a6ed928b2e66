import type { Broker } from '@ticketing/client'
import { databaseTargets } from '@ticketing/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reshapedTickets } from './support/reshaped-tickets.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { gate } from './support/server-view.js'
import { rejection, TestBed } from './support/test-bed.js'
import { WireLog } from './support/wire-log.js'

describe.each(databaseTargets())('tickets before connections on $name', (target) => {
  let bed: TestBed
  beforeAll(async () => {
    bed = await TestBed.create(target)
  })
  afterAll(() => bed[Symbol.asyncDispose]())

  it('F3, fault 13: a lease that runs down while the pool’s only connection is elsewhere ends the section unsent', async () => {
    const wire = new WireLog()
    const pool = bed.pool({ max: 1, stream: wire.stream })
    const elsewhere = await pool.connect()
    wire.clear()
    const broker = new ScriptedBroker()
    const started = performance.now()
    const error = await rejection(bed.fence(broker, {}, pool).run('starved', { lease: 1 }, () => undefined))
    expect(performance.now() - started).toBeLessThan(1_500)
    expect(error).toMatchObject({ code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' })
    expect(broker.log).toEqual(['acquire starved', 'release starved'])
    expect(pool.waitingCount).toBe(1)

    // The connection that comes too late goes straight back, unused.
    const next = pool.connect()
    elsewhere.release()
    const again = await next
    expect(again).toBe(elsewhere)
    expect(wire.bytes).toBe(0)
    again.release()
    expect([pool.totalCount, pool.idleCount, pool.waitingCount]).toEqual([1, 1, 0])
    expect(await bed.fenceRow('starved')).toBeUndefined()
  })

  it('F3: with less than the minimum work left once a connection is there, nothing is sent', async () => {
    const wire = new WireLog()
    const pool = bed.pool({ max: 1, stream: wire.stream })
    const elsewhere = await pool.connect()
    wire.clear()
    let remaining = 5
    const broker = reshapedTickets(new ScriptedBroker(), () => ({ remaining: () => remaining }))
    const section = bed.fence(broker, {}, pool).run('late', { lease: 5, minWork: 3 }, () => undefined)
    const refused = rejection(section)
    remaining = 2.999
    elsewhere.release()
    expect(await refused).toMatchObject({ code: 'FENCE_LEASE_TOO_SHORT', outcome: 'not-executed' })
    expect(((await refused) as Error).message).toMatch(/2\.999 s of the lease .* minimum work of 3 s/)
    expect(wire.bytes).toBe(0)
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1])
    expect(await bed.fenceRow('late')).toBeUndefined()
  })

  it('F3, fault 13: who waits for a lock holds no connection, so a pool of one serves any number of them', async () => {
    const pool = bed.pool({ max: 1 })
    const inner = new ScriptedBroker()
    const turns = Array.from({ length: 5 }, () => gate())
    let asked = 0
    const queue: Broker = {
      acquire: async (key, options) => {
        await turns[asked++]?.opened
        return await inner.acquire(key, options)
      },
    }
    const fence = bed.fence(queue, {}, pool)
    const sections = turns.map(() =>
      fence.run('queue', async (tx) => {
        await tx.query(
          "INSERT INTO account VALUES ('queue', 1) ON CONFLICT (id) DO UPDATE SET balance = account.balance + 1",
        )
      }),
    )
    expect(asked).toBe(5)
    expect([pool.totalCount, pool.waitingCount]).toEqual([0, 0])
    for (const [index, turn] of turns.entries()) {
      turn.open()
      await sections[index]
      expect([pool.totalCount, pool.idleCount, pool.waitingCount]).toEqual([1, 1, 0])
    }
    expect(await bed.balance('queue')).toBe('5')
  })
})
