import { databaseTargets } from '@ticketing/testing/vitest'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { failureOf, pidOf } from './support/assertions.js'
import { casesOf, type FencedDatabase, openFencedDatabase } from './support/fenced-database.js'
import {
  killBackend,
  type NativeClient,
  onlyClient,
  poolOf,
  replaceStatements,
  textOf,
} from './support/native-client.js'
import { typeormVersions } from './support/typeorm-versions.js'

describe.each(casesOf(databaseTargets(), typeormVersions))('connections, $title', ({ target, version }) => {
  let open: FencedDatabase
  let destroyed: unknown[] = []

  beforeAll(async () => {
    open = await openFencedDatabase(target, version)
    open.fence.on('connection-destroyed', ({ error }) => destroyed.push(error))
    await open.dataSource.query('CREATE TABLE child (parent text REFERENCES account DEFERRABLE INITIALLY DEFERRED)')
  })
  beforeEach(async () => {
    await open.reset()
    destroyed = []
  })
  afterAll(() => open[Symbol.asyncDispose]())

  const pid = () => pidOf(open.dataSource.manager)
  const expectHealthy = async () => {
    const before = await open.balance()
    await open.fence.run('a', open.withdraw)
    expect(await open.balance()).toBe(before - 10)
    const { totalCount, idleCount, waitingCount } = poolOf(open.dataSource)
    expect([totalCount, idleCount, waitingCount]).toEqual([1, 1, 0])
  }

  it('F13: a section that succeeds, and one that rolls back, keep their connection', async () => {
    const first = await pid()
    await open.fence.run('a', open.withdraw)
    await failureOf(open.fence.run('a', () => Promise.reject(new Error('no'))))
    expect(destroyed).toEqual([])
    expect(await pid()).toBe(first)
    await expectHealthy()
  })

  it.each(['refused', 'cut'] as const)(
    'F13, F1: BEGIN is %s: no claim, no work, and the pool lives on',
    async (how) => {
      const first = await pid()
      const client = await onlyClient(open.dataSource)
      replaceStatements(client, (text) => {
        if (!text.startsWith('BEGIN')) return undefined
        if (how === 'refused') return 'BEGIN nothing'
        client.connection.stream.destroy()
        return text
      })
      let worked = false
      await failureOf(
        open.fence.run('a', () => {
          worked = true
        }),
      )
      expect(worked).toBe(false)
      expect(destroyed).toHaveLength(1)
      expect(await pid()).not.toBe(first)
      await expectHealthy()
    },
  )

  it('F15: a signal that comes while BEGIN is on its way ends the section, and no claim follows its ROLLBACK', async () => {
    const client = await onlyClient(open.dataSource)
    const sent: string[] = []
    const controller = new AbortController()
    const restore = replaceStatements(client, (text) => {
      sent.push(text)
      if (text !== 'BEGIN') return undefined
      controller.abort(new Error('never mind'))
      return 'BEGIN; SELECT pg_sleep(0.1)'
    })
    const error = await failureOf(open.fence.run('a', { signal: controller.signal }, open.withdraw))
    restore()
    expect(error).toBe(controller.signal.reason)
    expect(sent).toEqual(['BEGIN', 'ROLLBACK'])
    expect(destroyed).toEqual([])
    expect(await open.balance()).toBe(100)
    await expectHealthy()
  })

  it('F13, fault 4: a connection whose COMMIT was refused is destroyed', async () => {
    const first = await pid()
    const error = await failureOf(
      open.fence.run('a', (manager) => manager.query(`INSERT INTO child VALUES ('nobody')`)),
    )
    expect(error).toMatchObject({ code: 'FENCE_COMMIT_FAILED', outcome: 'not-executed' })
    expect(destroyed).toEqual([error.cause])
    expect(await pid()).not.toBe(first)
    await expectHealthy()
  })

  it('F12, fault 1: a COMMIT that the server answers with ROLLBACK is no success', async () => {
    const client = await onlyClient(open.dataSource)
    const restore = replaceStatements(client, (text) => (text === 'COMMIT' ? 'ROLLBACK' : undefined))
    const error = await failureOf(open.fence.run('a', open.withdraw))
    restore()
    expect(error).toMatchObject({ code: 'FENCE_TX_ABORTED', outcome: 'not-executed' })
    expect(await open.balance()).toBe(100)
    await expectHealthy()
  })

  it('F6, F13: a connection that is cut after COMMIT was sent leaves the outcome unknown', async () => {
    const first = await pid()
    const client = await onlyClient(open.dataSource)
    replaceStatements(client, (text) => {
      if (text === 'COMMIT') client.connection.stream.destroy()
      return undefined
    })
    const error = await failureOf(open.fence.run('a', { retries: 5 }, open.withdraw))
    expect(error).toMatchObject({ code: 'FENCE_COMMIT_UNKNOWN', outcome: 'unknown' })
    expect(destroyed).toHaveLength(1)
    expect(await pid()).not.toBe(first)
    await expectHealthy()
  })

  it('F13, F15, fault 19: ROLLBACK fails since the backend was killed: the work’s own error is thrown', async () => {
    const own = new Error('the work fails by itself')
    let first = 0
    const error = await failureOf(
      open.fence.run('a', async (manager) => {
        first = await pidOf(manager)
        await open.withdraw(manager)
        await killBackend(open.database, first)
        throw own
      }),
    )
    expect(error).toBe(own)
    expect(destroyed).toHaveLength(1)
    expect(await pid()).not.toBe(first)
    expect(await open.balance()).toBe(100)
    await expectHealthy()
  })

  it('fault 4: a connection that came back to the pool inside a transaction is destroyed, not used', async () => {
    const stray = await poolOf(open.dataSource).connect()
    await (stray.query('BEGIN') as Promise<unknown>)
    await (stray.query(`UPDATE account SET balance = 0 WHERE id = 'a'`) as Promise<unknown>)
    stray.release()
    await open.fence.run('a', open.withdraw)
    expect(destroyed).toHaveLength(1)
    expect(await open.balance()).toBe(90)
    await expectHealthy()
  })

  it('F3, fault 13: any number of sections share a pool of one, and none waits for itself', async () => {
    await Promise.all(Array.from({ length: 8 }, () => open.fence.run('a', open.withdraw)))
    expect(await open.balance()).toBe(20)
    await expectHealthy()
  })

  it('F1: a statement whose turn comes after the lease is not sent, also where nobody could yet tell its end', async () => {
    const client = await onlyClient(open.dataSource)
    const sent: string[] = []
    const restore = replaceStatements(client, (text) => void sent.push(text.replace(/ .*/s, '')))
    open.broker.leaseSeconds = 0.3
    try {
      let refused: unknown
      const error = await failureOf(
        open.fence.run('a', { minWork: 0 }, (manager, ticket) => {
          while (ticket.remaining() > 0);
          return open.withdraw(manager).catch((error: unknown) => {
            refused = error
          })
        }),
      )
      expect(refused).toMatchObject({ code: 'FENCE_LEASE_EXPIRED' })
      expect(error).toMatchObject({ code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' })
    } finally {
      open.broker.leaseSeconds = undefined
      restore()
    }
    expect(sent).not.toContain('UPDATE')
    await expectHealthy()
  })

  it('F13, fault 4: a nested transaction that is still open rolls back, and the connection is kept', async () => {
    const error = await failureOf(
      open.fence.run('a', async (manager) => {
        await manager.queryRunner?.startTransaction()
        await open.withdraw(manager)
      }),
    )
    expect(error).toMatchObject({ code: 'FENCE_COMMIT_FAILED', outcome: 'not-executed' })
    expect(destroyed).toEqual([])
    await expectHealthy()
  })

  it('F4: a claim that nobody answers ends with its lease, and no work is done', async () => {
    const client = await onlyClient(open.dataSource)
    const { query } = client
    client.query = (given: unknown, ...rest: unknown[]) =>
      textOf(given).startsWith('WITH') ? new Promise(() => undefined) : query.call(client, given, ...rest)
    open.broker.leaseSeconds = 0.5
    try {
      const error = await failureOf(open.fence.run('a', { minWork: 0 }, open.withdraw))
      expect(error).toMatchObject({ code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' })
    } finally {
      open.broker.leaseSeconds = undefined
      client.query = query
    }
    expect(await open.balance()).toBe(100)
    await expectHealthy()
  })

  it('F14: the handle is dead before the last check, not only before COMMIT', async () => {
    let check = () => {}
    const checking = new Promise<void>((resolve) => {
      check = resolve
    })
    const client = await onlyClient(open.dataSource)
    const restore = replaceStatements(client, (text) =>
      text.includes('pg_current_xact_id_if_assigned') ? void check() : undefined,
    )
    let late: Promise<unknown> = Promise.resolve()
    await open.fence.run('a', async (manager) => {
      // After this, the section asks the server whether the transaction is still its own.
      await failureOf(manager.transaction((inner) => inner.query('SELECT 1/0')))
      late = checking.then(() => open.withdraw(manager))
      late.catch(() => undefined)
    })
    restore()
    expect(await failureOf(late)).toMatchObject({ code: 'FENCE_HANDLE_ENDED' })
    expect(await open.balance()).toBe(100)
  })

  it('F14: a query object of node-postgres is refused after the section as well, by an exception', async () => {
    const text = `UPDATE account SET balance = balance - 10 WHERE id = 'a'`
    const client = await open.fence.run('a', async (manager) => {
      const client = (await manager.queryRunner?.connect()) as NativeClient
      await new Promise((resolve) => {
        client.query(Object.assign(new pg.Query(text), { callback: resolve }))
      })
      return client
    })
    expect(() => client.query(new pg.Query(text))).toThrow(expect.objectContaining({ code: 'FENCE_HANDLE_ENDED' }))
    expect(await open.balance()).toBe(90)
  })

  it('F13, F6: COMMIT that the driver gives up on while the server runs it: unknown, and its connection is gone', async () => {
    await using impatient = await openFencedDatabase(target, version, {
      extra: { query_timeout: 300 },
      fenceName: 'impatient',
    })
    await impatient.reset()
    await impatient.dataSource.query(`
      CREATE TABLE slow (id text);
      CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER sleep AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION sleep()`)
    const first = await pidOf(impatient.dataSource.manager)
    const error = await failureOf(impatient.fence.run('a', (manager) => manager.query(`INSERT INTO slow VALUES ('a')`)))
    expect(error).toMatchObject({ code: 'FENCE_COMMIT_UNKNOWN', outcome: 'unknown' })
    expect(await pidOf(impatient.dataSource.manager)).not.toBe(first)
  })

  it('F4, F15: work that outlasts its lease fails as that, whatever its statement says, and nothing is written', async () => {
    open.broker.leaseSeconds = 0.5
    try {
      const error = await failureOf(
        open.fence.run('a', { minWork: 0 }, async (manager) => {
          await open.withdraw(manager)
          await manager.query('SELECT pg_sleep(5)')
        }),
      )
      expect(error).toMatchObject({ code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' })
    } finally {
      open.broker.leaseSeconds = undefined
    }
    expect(await open.balance()).toBe(100)
    await expectHealthy()
  })
})
