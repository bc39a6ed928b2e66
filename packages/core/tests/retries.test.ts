import { describe, expect, test } from 'vitest'
import { DatabaseError } from './support/fake-database.js'
import { rejection } from './support/gate.js'
import { hostKinds } from './support/recording-host.js'
import { identityCheck, sectionWorld } from './support/section-world.js'

const fails = (error: unknown) => () => Promise.reject(error)

describe.each(hostKinds)('$shape, $evidence', (kind) => {
  test.each(['40001', '40P01'])(
    'F5: a claim that fails with %s is tried again under the same ticket, after a full ROLLBACK',
    async (sqlState) => {
      const { fence, journal, database, host, broker, events } = sectionWorld(kind)
      const failure = new DatabaseError(sqlState)
      database.at('claim a', fails(failure))
      let ran = 0

      const token = await fence.run('a', (_tx, ticket) => {
        ran += 1
        return ticket.token
      })

      expect({ token, ran, acquires: broker.acquires.length }).toEqual({ token: 101n, ran: 1, acquires: 1 })
      expect(journal).toEqual([
        'acquire a',
        ...['connect', 'BEGIN', 'claim a', 'handle ends', 'ROLLBACK', 'give back'],
        ...['connect', 'BEGIN', 'claim a', 'handle ends', ...identityCheck(kind), 'COMMIT', 'give back'],
        'release a',
      ])
      expect(events).toEqual([{ name: 'retry', event: { keys: ['a'], attempt: 1, of: 'claim', error: failure } }])
      expect(host.claims.map(({ claims }) => claims)).toEqual(Array(2).fill([{ key: 'a', token: 101n }]))
    },
  )

  test('F6: every attempt writes fresh 16 bytes', async () => {
    const { fence, database, host } = sectionWorld(kind)
    database.at('claim a', fails(new DatabaseError('40001')), fails(new DatabaseError('40001')))
    await fence.run('a', () => undefined)
    const attempts = host.claims.map(({ attempt }) => attempt)
    expect(new Set(attempts).size).toBe(3)
    for (const attempt of attempts) expect(attempt).toMatch(/^[0-9a-f]{32}$/)
  })

  test('F5: the claim is tried again only while the minimum work is left', async () => {
    const { fence, database, host, time, journal } = sectionWorld(kind)
    const slowFailure = () => {
      time.stall(3_000)
      throw new DatabaseError('40001')
    }
    database.at('claim a', slowFailure, slowFailure, slowFailure, slowFailure)
    const error = await rejection(fence.run('a', () => undefined))
    expect(error).toMatchObject({ code: 'FENCE_LEASE_TOO_SHORT', outcome: 'not-executed' })
    expect(host.claims).toHaveLength(3) // at 0 s, 3 s and 6 s; at 9 s only 1 s is left
    expect(host.claims.map(({ bounds }) => bounds.transactionMilliseconds)).toEqual([10_000, 7_000, 4_000])
    expect(journal.at(-1)).toBe('release a')
  })

  test.each(['23505', '55P03', '25P02', '08006', 'XX000'])(
    'F5: a claim that fails with %s is not tried again',
    async (sqlState) => {
      const { fence, database, host } = sectionWorld(kind)
      database.at('claim a', fails(new DatabaseError(sqlState)))
      await rejection(fence.run('a', { retries: 5 }, () => undefined))
      expect(host.claims).toHaveLength(1)
    },
  )

  test('F4: a claim ended by its bound is FENCE_BLOCKED, never stale, with the database’s error as its cause', async () => {
    for (const failure of [
      new DatabaseError('55P03'),
      new DatabaseError('57014'),
      new DatabaseError('25P04', true),
      new DatabaseError('25P03', true),
    ]) {
      const { fence, database, journal } = sectionWorld(kind)
      database.at('claim a', fails(failure))
      const error = await rejection(fence.run('a', () => undefined))
      expect(error).toMatchObject({ code: 'FENCE_BLOCKED', outcome: 'not-executed', cause: failure })
      expect(journal.at(-1)).toBe('release a')
    }
  })

  test('F5: a stale token is refused once', async () => {
    const { fence, database, host } = sectionWorld(kind)
    database.highWaters.set('a', 500n)
    await rejection(fence.run('a', { retries: 5 }, () => undefined))
    expect(host.claims).toHaveLength(1)
  })

  test.each([0, 1, 3])(
    'F5: work that keeps failing with 40001 runs 1 + %d times, and its last error is the caller’s',
    async (retries) => {
      const { fence, database, host, broker, events } = sectionWorld(kind)
      const errors: DatabaseError[] = []
      const error = await rejection(
        fence.run('a', { retries }, async (tx) => {
          const failure = new DatabaseError('40001')
          errors.push(failure)
          database.at('UPDATE one', fails(failure))
          await tx.query('UPDATE one')
        }),
      )
      expect(errors).toHaveLength(1 + retries)
      expect(error).toBe(errors.at(-1))
      expect(events).toEqual(
        errors.slice(0, retries).map((failure, index) => ({
          name: 'retry',
          event: { keys: ['a'], attempt: index + 1, of: 'work', error: failure },
        })),
      )
      expect({ claims: host.claims.length, acquires: broker.acquires.length }).toEqual({
        claims: 1 + retries,
        acquires: 1,
      })
      expect(database.committed).toEqual([])
    },
  )

  test('F5, F15: work that may run again but has too little lease left for it ends with its own error', async () => {
    const { fence, database, time, events } = sectionWorld(kind)
    const failure = new DatabaseError('40001')
    database.at('UPDATE one', fails(failure))
    const error = await rejection(
      fence.run('a', { retries: 5 }, async (tx) => {
        time.stall(9_000)
        await tx.query('UPDATE one')
      }),
    )
    expect(error).toBe(failure)
    expect(events).toEqual([])
  })

  test.each(['57014', '25P03', '25P04'])(
    'F15: a statement that the bound cut off (%s) when the lease was over is FENCE_LEASE_EXPIRED, and before that the work’s own error',
    async (sqlState) => {
      for (const [milliseconds, over] of [
        [9_999, true],
        [5_000, false],
      ] as const) {
        const { fence, database, time } = sectionWorld(kind)
        const failure = new DatabaseError(sqlState)
        database.at('UPDATE one', () => {
          time.stall(milliseconds)
          throw failure
        })
        const error = await rejection(fence.run('a', (tx) => tx.query('UPDATE one')))
        if (over) expect(error).toMatchObject({ code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed', cause: failure })
        else expect(error).toBe(failure)
      }
    },
  )

  test('F5: without retries, work that meets a serialisation failure is never run again', async () => {
    for (const sqlState of ['40001', '40P01']) {
      const { fence, database, events } = sectionWorld(kind)
      const failure = new DatabaseError(sqlState)
      database.at('UPDATE one', fails(failure))
      let ran = 0
      const error = await rejection(
        fence.run('a', async (tx) => {
          ran += 1
          await tx.query('UPDATE one')
        }),
      )
      expect(error).toBe(failure)
      expect({ ran, events }).toEqual({ ran: 1, events: [] })
    }
  })

  test('F5: work that succeeds at its second run is committed once', async () => {
    const { fence, database } = sectionWorld(kind)
    database.at('UPDATE one', fails(new DatabaseError('40P01')))
    await fence.run('a', { retries: 1 }, (tx) => tx.query('UPDATE one'))
    expect(database.committed).toEqual(['UPDATE one'])
  })

  test('F5: retries of the claim do not count against those of the work', async () => {
    const { fence, database, events } = sectionWorld(kind)
    database.at('claim a', fails(new DatabaseError('40001')), fails(new DatabaseError('40001')))
    database.at('UPDATE one', fails(new DatabaseError('40001')))
    await fence.run('a', { retries: 1 }, (tx) => tx.query('UPDATE one'))
    expect(events.map(({ event }) => (event as { of: string }).of)).toEqual(['claim', 'claim', 'work'])
    expect(database.committed).toEqual(['UPDATE one'])
  })

  test('F5: other errors of the work are not retried', async () => {
    for (const failure of [
      new DatabaseError('23505'),
      new DatabaseError('57P01', true),
      new Error('no database error'),
    ]) {
      const { fence } = sectionWorld(kind)
      let ran = 0
      const error = await rejection(
        fence.run('a', { retries: 5 }, () => {
          ran += 1
          throw failure
        }),
      )
      expect(error).toBe(failure)
      expect(ran).toBe(1)
    }
  })

  test('F5: a COMMIT refused with 40001 counts as the work’s', async () => {
    const { fence, database, events } = sectionWorld(kind)
    const failure = new DatabaseError('40001')
    database.at('COMMIT', fails(failure))
    await fence.run('a', { retries: 1 }, (tx) => tx.query('UPDATE one'))
    expect(database.committed).toEqual(['UPDATE one'])
    expect(events.filter(({ name }) => name === 'retry')).toMatchObject([{ event: { of: 'work', attempt: 1 } }])
  })
})
