import { describe, expect, test } from 'vitest'
import { FenceError, StaleTokenError } from '../src/index.js'
import { DatabaseError } from './support/fake-database.js'
import { Gate, rejection, settle } from './support/gate.js'
import { hostKinds } from './support/recording-host.js'
import { identityCheck, sectionWorld } from './support/section-world.js'

describe.each(hostKinds)('$shape, $evidence', (kind) => {
  const heldBack = kind.shape === 'BEGIN held back'

  test('F1: acquire, BEGIN, claim, work, the end of the handle, COMMIT, the connection, release: in this order', async () => {
    const { fence, journal, database } = sectionWorld(kind)

    const result = await fence.run('a', async (tx, ticket) => {
      await tx.query('UPDATE one')
      await tx.query('UPDATE two')
      return `done under ${ticket.token}`
    })

    expect(result).toBe('done under 101')
    expect(journal).toEqual([
      'acquire a',
      'connect',
      'BEGIN',
      'claim a',
      'UPDATE one',
      'UPDATE two',
      'handle ends',
      ...identityCheck(kind),
      'COMMIT',
      'give back',
      'release a',
    ])
    expect(database.committed).toEqual(['UPDATE one', 'UPDATE two'])
    expect(database.highWaters.get('a')).toBe(101n)
  })

  test('F1: the claim compares with the floor and the high-water itself, in one statement', async () => {
    const { fence, host, sent } = sectionWorld(kind, { table: 'app.fence' })
    await fence.run('a', () => undefined)

    const [claim] = host.claims
    expect(claim?.tables).toEqual({ name: 'app.fence', fence: '"app"."fence"', floor: '"app"."fence_floor"' })
    expect(claim?.statement.text).toContain('"app"."fence_floor" AS floor')
    expect(claim?.statement.text).toContain('floor.floor < claim.token')
    expect(claim?.statement.text).toContain('fence.token < excluded.token')
    expect(sent().indexOf('claim a')).toBe(sent().indexOf('BEGIN') + 1)
  })

  test('F11: tokens and keys travel as text, above 2^53 as well', async () => {
    const { fence, host, broker, database } = sectionWorld(kind)
    broker.nextToken = 2n ** 63n - 1n
    const token = await fence.run('ключ', (_tx, ticket) => ticket.token)

    expect(token).toBe(9223372036854775807n)
    expect(host.claims[0]?.statement.values.slice(-2)).toEqual([
      Buffer.from('ключ').toString('hex'),
      '9223372036854775807',
    ])
    expect(database.highWaters.get('ключ')).toBe(9223372036854775807n)
  })

  test('F1: an error of the work rolls back, and the ticket is released after the transaction', async () => {
    const { fence, journal, database } = sectionWorld(kind)
    const failure = new Error('the work failed')

    const error = await rejection(
      fence.run('a', async (tx) => {
        await tx.query('UPDATE one')
        throw failure
      }),
    )

    expect(error).toBe(failure) // F15
    expect(journal.slice(4)).toEqual(['UPDATE one', 'handle ends', 'ROLLBACK', 'give back', 'release a'])
    expect(database.committed).toEqual([])
    expect(database.highWaters.size).toBe(0)
  })

  test('F2: a token at or below the high-water is refused with key, token and high-water; the work never runs', async () => {
    for (const highWater of [101n, 2n ** 62n]) {
      const { fence, journal, database, host } = sectionWorld(kind)
      database.highWaters.set('a', highWater)
      let ran = false

      const error = await rejection(
        fence.run('a', () => {
          ran = true
        }),
      )

      expect(error).toBeInstanceOf(StaleTokenError)
      expect(error).toBeInstanceOf(FenceError)
      expect(error).toMatchObject({
        code: 'FENCE_STALE_TOKEN',
        outcome: 'not-executed',
        key: 'a',
        token: 101n,
        highWater,
      })
      expect((error as Error).message).toContain(`its token 101 is not above the stored high-water ${highWater}`)
      expect(ran).toBe(false)
      expect(journal.slice(3)).toEqual([
        'claim a',
        'stored tokens',
        'handle ends',
        'ROLLBACK',
        'give back',
        'release a',
      ])
      expect(database.highWaters.get('a')).toBe(highWater)
      expect(host.claims).toHaveLength(1)
    }
  })

  test('F7: a token at or below the floor is refused, whether or not its key has a row', async () => {
    for (const highWater of [undefined, 50n]) {
      const { fence, database } = sectionWorld(kind)
      database.floor = { floor: 101n, schemaVersion: 100 }
      if (highWater !== undefined) database.highWaters.set('a', highWater)
      const error = await rejection(fence.run('a', () => undefined))
      expect(error).toMatchObject({ code: 'FENCE_STALE_TOKEN', key: 'a', token: 101n, highWater: 101n })
    }
  })

  test.each([
    [
      'a missing table',
      'FENCE_NOT_MIGRATED',
      (world: ReturnType<typeof sectionWorld>) => {
        world.database.at('claim a', () => Promise.reject(new DatabaseError('42P01')))
      },
    ],
    [
      'a missing floor row',
      'FENCE_NOT_MIGRATED',
      (world: ReturnType<typeof sectionWorld>) => {
        world.database.floor = undefined
      },
    ],
    [
      'a newer breaking schema',
      'FENCE_SCHEMA_TOO_NEW',
      (world: ReturnType<typeof sectionWorld>) => {
        world.database.floor = { floor: 0n, schemaVersion: 200 }
      },
    ],
  ])('F1: a claim that meets %s is %s, and nothing is written', async (_what, code, arrange) => {
    const world = sectionWorld(kind)
    arrange(world)
    const error = await rejection(world.fence.run('a', () => undefined))
    expect(error).toMatchObject({ code, outcome: 'not-executed' })
    expect((error as Error).message).toContain('"ticketing_fence"')
    expect(world.journal.slice(-3)).toEqual(['ROLLBACK', 'give back', 'release a'])
  })

  test('F1: 42P01 of the work is the work’s own error', async () => {
    const { fence, database } = sectionWorld(kind)
    const failure = new DatabaseError('42P01')
    database.at('UPDATE nowhere', () => Promise.reject(failure))
    expect(await rejection(fence.run('a', (tx) => tx.query('UPDATE nowhere')))).toBe(failure)
  })

  test('F3: the ticket is acquired before a connection is taken', async () => {
    const { fence, journal, broker } = sectionWorld(kind)
    const grant = new Gate()
    broker.onAcquire = grant.wait
    const section = fence.run('a', () => 'done')
    await settle()
    expect(journal).toEqual(['acquire a'])
    grant.open()
    expect(await section).toBe('done')
  })

  test('F3: less than the minimum work left once connected is refused, without a statement of the section', async () => {
    const { fence, journal, database, time } = sectionWorld(kind)
    database.at('connect', () => time.stall(8_001))
    const error = await rejection(fence.run('a', () => undefined))

    expect(error).toMatchObject({ code: 'FENCE_LEASE_TOO_SHORT', outcome: 'not-executed' })
    expect((error as Error).message).toContain('Only 1.999 s of the lease')
    expect((error as Error).message).toContain('minimum work of 2 s')
    expect(journal).toEqual([
      'acquire a',
      'connect',
      ...(heldBack ? ['handle ends'] : ['BEGIN', 'handle ends', 'ROLLBACK']),
      'give back',
      'release a',
    ])
  })

  test('F3: exactly the minimum work left is enough', async () => {
    const { fence, database, time } = sectionWorld(kind)
    database.at('connect', () => time.stall(8_000))
    expect(await fence.run('a', (_tx, ticket) => ticket.remaining())).toBe(2)
  })

  test('F3: a lease that ended while the process stood still is refused, without a statement of the section', async () => {
    const { fence, journal, database, time } = sectionWorld(kind)
    database.at('connect', () => time.stall(10_000))
    const error = await rejection(fence.run('a', () => undefined))
    expect(error).toMatchObject({ code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' })
    expect(journal).not.toContain('claim a')
    expect(journal.includes('BEGIN')).toBe(!heldBack)
  })

  test('F3: a lease that ends while the section waits for a connection ends that wait', async () => {
    const { fence, journal, database, time } = sectionWorld(kind)
    const pool = new Gate()
    database.at('connect', pool.wait)
    const section = rejection(fence.run('a', () => undefined))
    await pool.reached
    time.advance(10_000)
    expect(await section).toMatchObject({ code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' })
    expect(journal).toEqual(['acquire a', 'connect', 'release a'])
    pool.open()
    await settle()
    expect(journal.at(-1)).toBe('give back')
  })

  test('F14: a statement that nobody awaited is answered before the end; a later one is refused, never autocommitted', async () => {
    const { fence, journal, database } = sectionWorld(kind)
    const slow = new Gate()
    const commit = new Gate()
    database.at('UPDATE slow', slow.wait)
    database.at('COMMIT', commit.wait)
    let late: Promise<unknown> | undefined
    const section = fence.run('a', (tx) => {
      void tx.query('UPDATE slow')
      late = commit.reached.then(() => rejection(tx.query('UPDATE late')))
    })
    await slow.reached
    await settle()
    expect(journal.at(-1)).toBe('handle ends')
    slow.open()
    await commit.reached
    expect(journal.indexOf('handle ends')).toBeLessThan(journal.indexOf('COMMIT'))
    commit.open()
    await section
    expect(await late).toMatchObject({ code: 'FENCE_HANDLE_ENDED', outcome: 'not-executed' })
    expect(journal).not.toContain('UPDATE late')
    expect(database.committed).toEqual(['UPDATE slow'])
  })

  test('F14: the handle is dead before ROLLBACK, too', async () => {
    const { fence, journal, database } = sectionWorld(kind)
    let late: Promise<unknown> | undefined
    await rejection(
      fence.run('a', (tx) => {
        late = settle().then(() => rejection(tx.query('UPDATE late')))
        throw new Error('the work failed')
      }),
    )
    expect(await late).toMatchObject({ code: 'FENCE_HANDLE_ENDED' })
    expect(journal.indexOf('handle ends')).toBeLessThan(journal.indexOf('ROLLBACK'))
    expect(database.committed).toEqual([])
  })

  test('F1: the isolation level reaches the host', async () => {
    const { fence, host } = sectionWorld(kind, {
      defaults: { wait: 5, lease: 10, minWork: 2, isolation: 'serializable' },
    })
    await fence.run('a', () => undefined)
    await fence.run('a', { isolation: 'repeatable read' }, () => undefined)
    expect(host.transactions.map(({ isolation }) => isolation)).toEqual(['serializable', 'repeatable read'])
  })

  test('C13: options of the call replace the defaults, and undefined does not', async () => {
    const { fence, broker } = sectionWorld(kind)
    await fence.run('a', { wait: undefined as never, lease: '20s', minWork: '1500ms' }, () => undefined)
    expect(broker.acquires[0]?.options).toEqual({ wait: 5, lease: 20, minWork: 2, signal: undefined })
  })
})
