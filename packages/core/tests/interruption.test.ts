import { describe, expect, test } from 'vitest'
import { DatabaseError } from './support/fake-database.js'
import { Gate, rejection, settle, unhandledRejections } from './support/gate.js'
import { hostKinds } from './support/recording-host.js'
import { sectionWorld } from './support/section-world.js'

const reason = { why: 'the request was closed' }

describe.each(hostKinds)('$shape, $evidence', (kind) => {
  test('F15: a signal that has aborted before the section is the broker’s refusal, and nothing else happens', async () => {
    const { fence, journal } = sectionWorld(kind)
    const error = await rejection(fence.run('a', { signal: AbortSignal.abort(reason) }, () => undefined))
    expect(error).toMatchObject({ code: 'TICKET_CANCELLED', cause: reason })
    expect(journal).toEqual(['acquire a'])
  })

  test('F15: a signal during the acquire cancels it, and the keys that were obtained are released', async () => {
    const { fence, broker, journal } = sectionWorld(kind)
    const queue = new Gate()
    const controller = new AbortController()
    broker.onAcquire = (key) => (key === 'b' ? queue.wait() : undefined)
    const section = rejection(fence.run(['a', 'b'], { signal: controller.signal }, () => undefined))
    await queue.reached
    controller.abort(reason)
    expect(await section).toMatchObject({ code: 'TICKET_CANCELLED', cause: reason })
    expect(journal).toEqual(['acquire a', 'acquire b', 'release a'])
  })

  test('F15: a signal while the section waits for a connection ends that wait', async () => {
    const { fence, database, journal } = sectionWorld(kind)
    const pool = new Gate()
    const controller = new AbortController()
    database.at('connect', pool.wait)
    const section = rejection(fence.run('a', { signal: controller.signal }, () => undefined))
    await pool.reached
    controller.abort(reason)
    expect(await section).toBe(reason)
    expect(journal).toEqual(['acquire a', 'connect', 'release a'])
    pool.open()
    await settle()
    expect(journal.at(-1)).toBe('give back')
  })

  test.each(['claim a', 'UPDATE one'])(
    'F15: a signal during %s rolls back and rejects with its reason',
    async (step) => {
      const { fence, database, journal } = sectionWorld(kind)
      const gate = new Gate()
      const controller = new AbortController()
      database.at(step, gate.wait)
      const section = rejection(fence.run('a', { signal: controller.signal }, (tx) => tx.query('UPDATE one')))
      await gate.reached
      controller.abort(reason)
      await settle()
      gate.open()
      expect(await section).toBe(reason)
      expect(journal.slice(-3)).toEqual(['ROLLBACK', 'give back', 'release a'])
      expect(database.committed).toEqual([])
      expect(database.highWaters.size).toBe(0)
    },
  )

  test('F15: a signal ends the section also where the work waits for something else, for ever', async () => {
    const { fence, journal } = sectionWorld(kind)
    const controller = new AbortController()
    const section = fence.run('a', { signal: controller.signal }, () => {
      controller.abort(reason)
      return new Promise(() => undefined)
    })
    expect(await rejection(section)).toBe(reason)
    expect(journal.slice(-4)).toEqual(['handle ends', 'ROLLBACK', 'give back', 'release a'])
  })

  test('F15: a signal while the section waits for a statement that nobody awaited still rolls back', async () => {
    const { fence, database, journal } = sectionWorld(kind)
    const slow = new Gate()
    const controller = new AbortController()
    database.at('UPDATE slow', slow.wait)
    const section = rejection(fence.run('a', { signal: controller.signal }, (tx) => void tx.query('UPDATE slow')))
    await slow.reached
    await settle()
    expect(journal.at(-1)).toBe('handle ends')
    controller.abort(reason)
    slow.open()
    expect(await section).toBe(reason)
    expect(journal).not.toContain('COMMIT')
    expect(database.committed).toEqual([])
  })

  test('F15: once COMMIT is queued, the signal has no effect', async () => {
    const { fence, database, journal } = sectionWorld(kind)
    const commit = new Gate()
    const controller = new AbortController()
    database.at('COMMIT', commit.wait)
    const section = fence.run('a', { signal: controller.signal }, async (tx) => {
      await tx.query('UPDATE one')
      return 'done'
    })
    await commit.reached
    controller.abort(reason)
    await settle()
    commit.open()
    expect(await section).toBe('done')
    expect(database.committed).toEqual(['UPDATE one'])
    expect(journal.slice(-3)).toEqual(['COMMIT', 'give back', 'release a'])
  })

  test('F15: a signal stops further runs of the work', async () => {
    const { fence, database, host } = sectionWorld(kind)
    const controller = new AbortController()
    database.at('UPDATE one', () => Promise.reject(new DatabaseError('40001')))
    const section = fence.run('a', { retries: 5, signal: controller.signal }, (tx) => tx.query('UPDATE one'))
    fence.on('retry', () => controller.abort(reason))
    expect(await rejection(section)).toBe(reason)
    expect(host.claims).toHaveLength(1)
  })

  test('F1: a lease that ends while the work runs rolls back: FENCE_LEASE_EXPIRED', async () => {
    const { fence, time, journal, database } = sectionWorld(kind)
    const error = await rejection(
      fence.run('a', async (tx) => {
        await tx.query('UPDATE one')
        time.advance(10_000)
        await new Promise(() => undefined)
      }),
    )
    expect(error).toMatchObject({ code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' })
    expect(journal.slice(-4)).toEqual(['handle ends', 'ROLLBACK', 'give back', 'release a'])
    expect(database.committed).toEqual([])
  })

  test('F1: no COMMIT is sent after the lease, also where no timer could fire in time', async () => {
    const { fence, time, journal, database } = sectionWorld(kind)
    const error = await rejection(
      fence.run('a', async (tx) => {
        await tx.query('UPDATE one')
        time.stall(10_000)
      }),
    )
    expect(error).toMatchObject({ code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' })
    expect(journal).not.toContain('COMMIT')
    expect(database.committed).toEqual([])
  })

  test('F1: the work does not begin where the lease ended during the claim, and a refusal is told before that', async () => {
    for (const highWater of [0n, 500n]) {
      const { fence, time, database } = sectionWorld(kind)
      let ran = false
      database.highWaters.set('a', highWater)
      database.at('claim a', () => time.stall(10_000))
      const error = await rejection(
        fence.run('a', () => {
          ran = true
        }),
      )
      expect(error).toMatchObject({ code: highWater === 0n ? 'FENCE_LEASE_EXPIRED' : 'FENCE_STALE_TOKEN' })
      expect(ran).toBe(false)
    }
  })

  test('F14: after the lease the handle refuses statements by itself', async () => {
    const { fence, time, journal } = sectionWorld(kind)
    const error = await rejection(
      fence.run('a', async (tx) => {
        time.stall(10_000)
        await tx.query('UPDATE one')
      }),
    )
    expect(error).toMatchObject({ code: 'FENCE_LEASE_EXPIRED' })
    expect(journal).not.toContain('UPDATE one')
  })

  test('F15: where the database ended the transaction after the lease, the driver’s first error is the cause', async () => {
    for (const first of [new DatabaseError('25P04', true), new DatabaseError('25P03', true), new Error('terminated')]) {
      const { fence, time, database } = sectionWorld(kind)
      database.at('UPDATE one', () => {
        time.stall(10_000)
        throw first
      })
      const error = await rejection(
        fence.run('a', async (tx) => {
          await tx.query('UPDATE one').catch(() => undefined)
          throw new Error('what the work made of it')
        }),
      )
      expect(error).toMatchObject({ code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed', cause: first })
    }
  })

  test('F15: a lease that ends by its timer after the connection broke tells the driver’s first error, too', async () => {
    const { fence, time, database } = sectionWorld(kind)
    const first = new DatabaseError('25P04', true)
    database.at('UPDATE one', () => Promise.reject(first))
    const error = await rejection(
      fence.run('a', async (tx) => {
        await tx.query('UPDATE one').catch(() => undefined)
        time.advance(10_000)
        await new Promise(() => undefined)
      }),
    )
    expect(error).toMatchObject({ code: 'FENCE_LEASE_EXPIRED', cause: first })
  })

  test('F15: an error of the work is the same object, also after the lease and on a connection that broke before its end', async () => {
    const ownError: unknown = { not: 'even an Error' }
    const { fence, time } = sectionWorld(kind)
    expect(
      await rejection(
        fence.run('a', () => {
          time.stall(10_000)
          throw ownError
        }),
      ),
    ).toBe(ownError)

    const { fence: second, database } = sectionWorld(kind)
    const lost = new DatabaseError('57P01', true)
    database.at('UPDATE one', () => Promise.reject(lost))
    expect(await rejection(second.run('a', (tx) => tx.query('UPDATE one')))).toBe(lost)
  })

  test('F15: what the work does after it was interrupted is reported on the side, never an unhandled rejection', async () => {
    const { fence, time, events } = sectionWorld(kind)
    const late = new Error('late')
    const workGoesOn = new Gate()
    const unhandled = await unhandledRejections(async () => {
      const section = rejection(
        fence.run('a', async () => {
          time.advance(10_000)
          await workGoesOn.wait()
          throw late
        }),
      )
      expect(await section).toMatchObject({ code: 'FENCE_LEASE_EXPIRED' })
      expect(events).toEqual([])
      workGoesOn.open()
    })
    expect(unhandled).toEqual([])
    expect(events).toEqual([{ name: 'late-failure', event: { keys: ['a'], error: late } }])
  })

  test('F15: a claim that fails after the section was cancelled is no unhandled rejection', async () => {
    const { fence, database } = sectionWorld(kind)
    const controller = new AbortController()
    const claim = new Gate()
    database.at('claim a', async () => {
      await claim.wait()
      throw new Error('Connection terminated')
    })
    const unhandled = await unhandledRejections(async () => {
      const section = rejection(fence.run('a', { signal: controller.signal }, () => undefined))
      await claim.reached
      controller.abort(reason)
      claim.open()
      expect(await section).toBe(reason)
    })
    expect(unhandled).toEqual([])
  })
})
