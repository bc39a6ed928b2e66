import { FenceError } from '@ticketing/core'
import { databaseTargets } from '@ticketing/testing/vitest'
import type { DataSource, EntityManager } from 'typeorm'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { failureOf } from './support/assertions.js'
import { type Account, casesOf, type FencedDatabase, openFencedDatabase } from './support/fenced-database.js'
import { typeormVersions } from './support/typeorm-versions.js'

describe.each(casesOf(databaseTargets(), typeormVersions))('outside the section, $title', ({ target, version }) => {
  let open: FencedDatabase

  beforeAll(async () => {
    open = await openFencedDatabase(target, version, { poolSize: 2 })
  })
  beforeEach(() => open.reset())
  afterAll(() => open[Symbol.asyncDispose]())

  const uses: [string, (dataSource: DataSource) => unknown][] = [
    ['dataSource.query', (ds) => ds.query('SELECT 1')],
    ['dataSource.transaction', (ds) => ds.transaction((manager) => manager.query('SELECT 1'))],
    ['dataSource.manager', (ds) => ds.manager.find<Account>('account')],
    ['an injected repository’s find', (ds) => ds.getRepository('account').find()],
    ['an injected repository’s save', (ds) => ds.getRepository('account').save({ id: 'b', balance: 1 })],
    ['a query builder', (ds) => ds.createQueryBuilder().update('account').set({ balance: 0 }).execute()],
    ['dataSource.createQueryRunner', (ds) => ds.createQueryRunner()],
    ['the replica’s runner', (ds) => ds.createQueryRunner('slave')],
    ['the driver’s own connection', (ds) => connectionOf(ds)],
  ]

  it.each(uses)('%s is refused inside, not outside, and not in fence.outside', async (_, use) => {
    const { fence, dataSource } = open
    await fence.run('a', async (manager) => {
      const error = await failureOf(attempt(() => use(dataSource)))
      expect(error).toBeInstanceOf(FenceError)
      expect(error).toMatchObject({ code: 'FENCE_OUTSIDE_SECTION', outcome: 'not-executed' })
      expect(error.message).toMatch(/fencedManager\(\).*fence\.outside/s)
      await attempt(() => fence.outside(() => use(dataSource)))
      await manager.query('SELECT 1')
    })
    await attempt(() => use(dataSource))
  })

  it('a runner made before the section takes no connection inside', async () => {
    const { fence, dataSource } = open
    const runner = dataSource.createQueryRunner()
    const error = await failureOf(fence.run('a', () => runner.query('SELECT 1')))
    expect(error.code).toBe('FENCE_OUTSIDE_SECTION')
  })

  it('what fence.outside writes stays when the section rolls back', async () => {
    const { fence, dataSource, account } = open
    await dataSource.getRepository(account).save({ id: 'b', balance: 0 })
    await failureOf(
      fence.run('a', async (manager) => {
        await open.withdraw(manager)
        await fence.outside(() => dataSource.getRepository(account).increment({ id: 'b' }, 'balance', 1))
        throw new Error('no')
      }),
    )
    expect(await dataSource.getRepository(account).findOneBy({ id: 'b' })).toEqual({ id: 'b', balance: 1 })
    expect(await open.balance()).toBe(100)
  })

  it('F9: a section in fence.outside is still a nested one', async () => {
    const { fence } = open
    const error = await failureOf(fence.run('a', () => fence.outside(() => fence.run('b', () => undefined))))
    expect(error.code).toBe('FENCE_NESTED')
  })

  it('work that outlives its section is no longer refused', async () => {
    const { fence, dataSource } = open
    let go = () => {}
    const ended = new Promise<void>((resolve) => {
      go = resolve
    })
    let late: Promise<unknown> = Promise.resolve()
    await fence.run('a', () => {
      late = ended.then(() => dataSource.query('SELECT 1'))
    })
    go()
    await late
  })

  it('manager.preload, which TypeORM runs on the DataSource’s own manager, is refused', async () => {
    const error = await failureOf(open.fence.run('a', (manager) => manager.preload(open.account, { id: 'a' })))
    expect(error.code).toBe('FENCE_OUTSIDE_SECTION')
  })

  it('never refuses the section’s own manager', async () => {
    const { fence, account } = open
    await fence.run('a', async (manager: EntityManager) => {
      const accounts = manager.getRepository(account)
      await accounts.save({ id: 'c', balance: 1 })
      await accounts.upsert({ id: 'c', balance: 2 }, ['id'])
      await accounts.insert({ id: 'd', balance: 3 })
      await accounts.createQueryBuilder().update().set({ balance: 4 }).where({ id: 'd' }).execute()
      await manager.transaction((inner) => inner.getRepository(account).increment({ id: 'd' }, 'balance', 1))
      expect(await accounts.createQueryBuilder('account').where({ id: 'd' }).getOne()).toEqual({ id: 'd', balance: 5 })
      expect(await manager.find(account, { where: { id: 'c' }, lock: { mode: 'pessimistic_write' } })).toHaveLength(1)
      await manager.connection
        .createQueryBuilder(manager.queryRunner)
        .delete()
        .from(account)
        .where({ id: 'd' })
        .execute()
      await accounts.remove(await accounts.findOneByOrFail({ id: 'c' }))
      expect(await accounts.countBy({ balance: 5 })).toBe(0)
    })
  })
})

/** What it does, and gives back; a refusal may be thrown at once. */
async function attempt(use: () => unknown): Promise<void> {
  const result = await use()
  await (result as { release?: () => Promise<void> } | undefined)?.release?.()
}

async function connectionOf(dataSource: DataSource): Promise<{ release(): Promise<void> }> {
  const driver = dataSource.driver as unknown as { obtainMasterConnection(): Promise<[unknown, () => void]> }
  const [, release] = await driver.obtainMasterConnection()
  return { release: async () => release() }
}
