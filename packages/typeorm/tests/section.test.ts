import { FenceError, StaleTokenError } from '@ticketing/core'
import { databaseTargets } from '@ticketing/testing/vitest'
import type { DataSource, EntityManager } from 'typeorm'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { typeormFence } from '../src/index.js'
import { failureOf, pidOf } from './support/assertions.js'
import { casesOf, type FencedDatabase, openFencedDatabase } from './support/fenced-database.js'
import { withLockedRow } from './support/locked-row.js'
import { typeormVersions } from './support/typeorm-versions.js'

describe.each(casesOf(databaseTargets(), typeormVersions))('$title', ({ target, version }) => {
  let open: FencedDatabase

  beforeAll(async () => {
    open = await openFencedDatabase(target, version)
  })
  beforeEach(() => open.reset())
  afterAll(() => open[Symbol.asyncDispose]())

  it('F1: the high-water moves with the business write, and the work’s result is the section’s', async () => {
    const { fence, withdraw, dataSource, broker } = open
    expect(
      await fence.run(['b', 'a'], async (manager, ticket) => {
        await withdraw(manager)
        return ticket.keys
      }),
    ).toEqual(['a', 'b'])
    expect(await open.balance()).toBe(90)
    expect(await dataSource.query('SELECT token FROM ticketing_fence ORDER BY lock_key')).toEqual([
      { token: String(broker.lastToken - 1n) },
      { token: String(broker.lastToken) },
    ])
  })

  it('F2: a stale ticket is refused with its token and the high-water, and nothing is written', async () => {
    const { fence, withdraw, broker } = open
    await fence.run('a', withdraw)
    const highWater = broker.lastToken
    broker.grantNext(highWater)
    const error = await failureOf(fence.run('a', withdraw))
    expect(error).toBeInstanceOf(StaleTokenError)
    expect(error).toMatchObject({ key: 'a', token: highWater, highWater })
    expect(await open.balance()).toBe(90)
  })

  it('fault 8: the work’s failure and its success stay what they are when the release fails', async () => {
    const { fence, withdraw, broker } = open
    broker.onRelease = () => Promise.reject(new Error('the lock service is gone'))
    try {
      const failed = new Promise((resolve) => fence.on('release-failed', resolve))
      await fence.run('a', withdraw)
      await failed
      expect(await open.balance()).toBe(90)
    } finally {
      broker.onRelease = undefined
    }
  })

  it.each([
    ['COMMIT', 'FENCE_TX_ENDED'],
    ['ROLLBACK', 'FENCE_TX_ENDED'],
    ['COMMIT; BEGIN', 'FENCE_TX_ENDED'],
    ['ROLLBACK; BEGIN', 'FENCE_TX_ENDED'],
    ['COMMIT AND CHAIN', 'FENCE_TX_ENDED'],
    ['ROLLBACK AND CHAIN', 'FENCE_TX_ENDED'],
    ['SELECT 1/0', 'FENCE_TX_ABORTED'],
  ])('F12, fault 1: %s inside, its error caught, ends as %s and the pool stays sound', async (statement, code) => {
    const { fence, withdraw } = open
    const error = await failureOf(
      fence.run('a', async (manager) => {
        await manager.query(statement).catch(() => undefined)
        await withdraw(manager).catch(() => undefined)
      }),
    )
    expect(error.code).toBe(code)
    expect(await open.balance()).toBe(100)
    await fence.run('a', withdraw)
    expect(await open.balance()).toBe(90)
  })

  it('F12: what the work sends after it ended the transaction is refused as the fence’s own error', async () => {
    const { fence, withdraw } = open
    const error = await failureOf(
      fence.run('a', async (manager) => {
        await manager.query('ROLLBACK')
        await withdraw(manager)
      }),
    )
    expect(error).toBeInstanceOf(FenceError)
    expect(error.code).toBe('FENCE_TX_ENDED')
    expect(await open.balance()).toBe(100)
  })

  it('F9, F12: a savepoint of TypeORM may fail and be rolled back inside a section', async () => {
    await open.fence.run('a', async (manager) => {
      await open.withdraw(manager)
      await manager.transaction((inner) => inner.query('SELECT 1/0')).catch(() => undefined)
      await manager.transaction((inner) => open.withdraw(inner))
    })
    expect(await open.balance()).toBe(80)
  })

  it('F9, fault 15: a section inside a section of the same fence is refused and takes no connection', async () => {
    const error = await failureOf(
      open.fence.run('a', async (manager) => {
        await open.withdraw(manager)
        await open.fence.run('b', () => undefined)
      }),
    )
    expect(error.code).toBe('FENCE_NESTED')
    expect(await open.balance()).toBe(100)
  })

  it.each(['commitTransaction', 'rollbackTransaction', 'release'] as const)(
    'fault 2: queryRunner.%s is refused, and the section goes on',
    async (name) => {
      const { fence, withdraw } = open
      await fence.run('a', async (manager) => {
        const error = await failureOf(manager.queryRunner?.[name]() ?? Promise.resolve())
        expect(error.code).toBe('FENCE_INVALID_ARGUMENT')
        await withdraw(manager)
      })
      expect(await open.balance()).toBe(90)
    },
  )

  it('fault 2: a COMMIT that a deferred constraint refuses is no success', async () => {
    const { dataSource, fence } = open
    await dataSource.query('CREATE TABLE child (parent text REFERENCES account DEFERRABLE INITIALLY DEFERRED)')
    const error = await failureOf(fence.run('a', (manager) => manager.query(`INSERT INTO child VALUES ('nobody')`)))
    expect(error).toMatchObject({ code: 'FENCE_COMMIT_FAILED', outcome: 'not-executed', cause: { code: '23503' } })
    expect(await dataSource.query('SELECT * FROM child')).toEqual([])
  })

  it('F1: the section’s isolation level is its transaction’s alone', async () => {
    const { fence, dataSource } = open
    const level = (manager: EntityManager) => manager.query<unknown>('SHOW transaction_isolation')
    expect(await fence.run('a', { isolation: 'serializable' }, level)).toEqual([
      { transaction_isolation: 'serializable' },
    ])
    expect(await level(dataSource.manager)).toEqual([{ transaction_isolation: 'read committed' }])
  })

  it.each(['repeatable read', 'serializable'] as const)(
    'fault 24, F5: a claim that %s refuses is run again, and is never called stale',
    async (isolation) => {
      const { fence, withdraw, database } = open
      await fence.run('a', withdraw)
      const retried: unknown[] = []
      const off = fence.on('retry', ({ of }) => retried.push(of))
      await withLockedRow(
        database.url,
        'UPDATE ticketing_fence SET claimed_at = claimed_at',
        async (waited, commit) => {
          const running = fence.run('a', { isolation }, withdraw)
          await waited()
          await commit()
          await running
        },
      )
      off()
      expect(retried).toEqual(['claim'])
      expect(await open.balance()).toBe(80)
    },
  )

  it('F13, fault 11: a backend that was killed inside is never handed out again, and the process lives', async () => {
    const { fence, dataSource } = open
    let pid: unknown
    const error = await failureOf(
      fence.run('a', async (manager) => {
        pid = await pidOf(manager)
        await manager.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => undefined)
      }),
    )
    expect(error).toMatchObject({ code: '57P01' })
    expect(await pidOf(dataSource.manager)).not.toBe(pid)
  })

  it('F14, fault 3: work that goes on after the section is refused, never autocommitted', async () => {
    const { fence, withdraw } = open
    let late: EntityManager | undefined
    let running: Promise<unknown> = Promise.resolve()
    await fence.run('a', async (manager) => {
      late = manager
      await withdraw(manager)
      running = (async () => {
        for (;;) await withdraw(manager)
      })()
      running.catch(() => undefined)
    })
    const committed = await open.balance()
    await expect(running).rejects.toMatchObject({ code: 'FENCE_HANDLE_ENDED' })
    await expect(withdraw(late as EntityManager)).rejects.toMatchObject({ code: 'FENCE_HANDLE_ENDED' })
    expect(await open.balance()).toBe(committed)
  })

  it('F15: what the work throws reaches the caller as the same object, and nothing is written', async () => {
    const reason = new Error('not today')
    const error = await failureOf(
      open.fence.run('a', async (manager) => {
        await open.withdraw(manager)
        throw reason
      }),
    )
    expect(error).toBe(reason)
    expect(await open.balance()).toBe(100)
  })

  it('fault 16: the ticket is released after the transaction has ended', async () => {
    const { fence, withdraw, broker } = open
    broker.log.length = 0
    await fence.run('a', async (manager) => {
      await withdraw(manager)
      broker.log.push('worked')
    })
    expect(broker.log).toEqual(['acquire a', 'worked', 'release a'])
  })

  it('refuses what is no DataSource on PostgreSQL, before anything is sent', () => {
    const { broker } = open
    expect(() => typeormFence({} as DataSource, { broker })).toThrow(/must be a TypeORM DataSource/)
    const other = new version.DataSource({ type: 'mysql' })
    expect(() => typeormFence(other, { broker })).toThrow(/supports "postgres"/)
  })
})
