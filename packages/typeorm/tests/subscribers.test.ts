import { databaseTargets } from '@ticketing/testing/vitest'
import type { EntityManager, EntitySubscriberInterface, QueryRunner } from 'typeorm'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { failureOf } from './support/assertions.js'
import { casesOf, type FencedDatabase, openFencedDatabase } from './support/fenced-database.js'
import { onlyClient, replaceStatements } from './support/native-client.js'
import { typeormVersions } from './support/typeorm-versions.js'

type Event = { readonly queryRunner: QueryRunner; readonly manager: EntityManager; readonly query?: string }
type Hooks = { [Name in keyof EntitySubscriberInterface]?: (event: Event) => unknown }

describe.each(casesOf(databaseTargets(), typeormVersions))('subscribers, $title', ({ target, version }) => {
  let open: FencedDatabase
  const warnings: string[] = []
  const note =
    (what: string) =>
    ({ manager }: Event) =>
      manager.query('INSERT INTO note VALUES ($1)', [what])

  beforeAll(async () => {
    open = await openFencedDatabase(target, version, {
      logger: {
        logQuery: () => undefined,
        logQueryError: () => undefined,
        logQuerySlow: () => undefined,
        logSchemaBuild: () => undefined,
        logMigration: () => undefined,
        log: (_: string, message: unknown) => void warnings.push(String(message)),
      },
    })
    await open.dataSource.query('CREATE TABLE note (what text)')
  })
  beforeEach(async () => {
    subscribe({})
    warnings.length = 0
    await open.dataSource.query('DELETE FROM note')
    await open.reset()
  })
  afterAll(() => open[Symbol.asyncDispose]())

  function subscribe(hooks: Hooks): void {
    open.dataSource.subscribers.splice(0, open.dataSource.subscribers.length, hooks as object)
  }
  const notes = async () =>
    (await open.dataSource.query<{ what: string }[]>('SELECT what FROM note')).map((row) => row.what)

  it('F1: what subscribers send at the begin comes after the claim, and belongs to the section', async () => {
    subscribe({ beforeTransactionStart: note('before'), afterTransactionStart: note('after') })
    const client = await onlyClient(open.dataSource)
    const sent: string[] = []
    const restore = replaceStatements(client, (text) => void sent.push(text.replace(/ .*/s, '')))
    await open.fence.run('a', { isolation: 'serializable' }, () => undefined)
    restore()
    expect(sent).toEqual(['BEGIN', 'WITH', 'INSERT', 'INSERT', 'COMMIT'])
    expect(await notes()).toEqual(['before', 'after'])
  })

  it('F1, F14: what subscribers send before the commit belongs to the section, and is checked with it', async () => {
    subscribe({ beforeTransactionCommit: note('outbox') })
    await open.fence.run('a', open.withdraw)
    expect(await notes()).toEqual(['outbox'])
    const aborted = await failureOf(
      open.fence.run('a', async (manager) => {
        subscribe({ beforeTransactionCommit: () => manager.query('SELECT 1/0').catch(() => undefined) })
        await open.withdraw(manager)
      }),
    )
    expect(aborted.code).toBe('FENCE_TX_ABORTED')
    expect(await open.balance()).toBe(90)
  })

  it('F15: a subscriber that fails before the commit rolls the section back with its own error', async () => {
    const reason = new Error('not on a Sunday')
    subscribe({ beforeTransactionCommit: () => Promise.reject(reason) })
    expect(await failureOf(open.fence.run('a', open.withdraw))).toBe(reason)
    expect(await open.balance()).toBe(100)
  })

  it.each(['beforeTransactionStart', 'afterTransactionStart'] as const)(
    'F15: a subscriber that fails at %s ends the section before its work, with its own error',
    async (hook) => {
      const reason = new Error('not on a Monday')
      subscribe({ [hook]: () => Promise.reject(reason) })
      let worked = false
      const error = await failureOf(
        open.fence.run('a', () => {
          worked = true
        }),
      )
      expect([error, worked, warnings]).toEqual([reason, false, []])
      subscribe({})
      await open.fence.run('a', open.withdraw)
      expect(await open.balance()).toBe(90)
    },
  )

  it('F6: where a subscriber keeps TypeORM from sending COMMIT, that is certain, and nothing is written', async () => {
    const error = await failureOf(
      open.fence.run('a', async (manager) => {
        await open.withdraw(manager)
        subscribe({ beforeTransactionStart: () => Promise.reject(new Error('no savepoints today')) })
        // TypeORM takes the whole transaction for ended then.
        await failureOf(manager.transaction((inner) => open.withdraw(inner)))
      }),
    )
    expect(error).toMatchObject({ code: 'FENCE_COMMIT_FAILED', outcome: 'not-executed' })
    expect(await open.balance()).toBe(100)
  })

  it('F15: a subscriber that fails at the rollback changes nothing of it', async () => {
    subscribe({ beforeTransactionRollback: () => Promise.reject(new Error('not on a Tuesday')) })
    const reason = new Error('no')
    const error = await failureOf(
      open.fence.run('a', async (manager) => {
        await open.withdraw(manager)
        throw reason
      }),
    )
    expect(error).toBe(reason)
    expect(warnings).toEqual([expect.stringContaining('not on a Tuesday')])
    expect(await open.balance()).toBe(100)
  })

  it('F14: a subscriber’s statement after COMMIT is refused, never autocommitted, and the section succeeded', async () => {
    subscribe({ afterTransactionCommit: note('late') })
    await open.fence.run('a', open.withdraw)
    expect(await open.balance()).toBe(90)
    expect(await notes()).toEqual([])
    expect(warnings).toEqual([expect.stringContaining('A subscriber failed')])
  })

  it('F10: a subscriber that fails after COMMIT does not turn the section into a failure', async () => {
    subscribe({ afterTransactionCommit: () => Promise.reject(new Error('the mail server is down')) })
    expect(await open.fence.run('a', () => 'done')).toBe('done')
    expect(warnings).toEqual([expect.stringContaining('the mail server is down')])
  })

  it('F14, fault 3: a statement held up past the end of its section is refused on the connection’s next use', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let arrived = () => {}
    const arriving = new Promise<void>((resolve) => {
      arrived = resolve
    })
    subscribe({
      async beforeQuery({ query }) {
        if (!query?.startsWith('UPDATE "account"')) return
        arrived()
        await held
      },
    })
    let late: Promise<unknown> = Promise.resolve()
    await open.fence.run('a', async (manager) => {
      // TypeORM has found its runner in order, and comes to its connection only after the section has returned it.
      late = open.withdraw(manager)
      late.catch(() => undefined)
      await arriving
    })
    release()
    await expect(late).rejects.toMatchObject({ code: 'FENCE_HANDLE_ENDED' })
    expect(await open.balance()).toBe(100)
  })

  it('savepoints tell subscribers as TypeORM does, and the section’s own end once', async () => {
    const told: string[] = []
    subscribe({
      beforeTransactionStart: () => told.push('begin'),
      beforeTransactionCommit: () => told.push('before commit'),
      afterTransactionCommit: () => told.push('after commit'),
      afterTransactionRollback: () => told.push('after rollback'),
    })
    await open.fence.run('a', (manager) => manager.transaction(() => Promise.resolve()))
    expect(told).toEqual(['begin', 'begin', 'before commit', 'after commit', 'before commit', 'after commit'])
    told.length = 0
    const fails = async (manager: EntityManager) => {
      await manager.queryRunner?.startTransaction()
      throw new Error('no')
    }
    await failureOf(open.fence.run('a', fails))
    expect(told).toEqual(['begin', 'begin', 'after rollback'])
  })
})
