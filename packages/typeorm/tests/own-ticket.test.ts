import { StaleTokenError } from '@ticketing/core'
import { databaseTargets } from '@ticketing/testing/vitest'
import type { EntityManager } from 'typeorm'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fencedTicket } from '../src/index.js'
import { failureOf } from './support/assertions.js'
import { casesOf, type FencedDatabase, openFencedDatabase, times } from './support/fenced-database.js'
import { typeormVersions } from './support/typeorm-versions.js'

describe.each(casesOf(databaseTargets(), typeormVersions))('tickets one has, $title', ({ target, version }) => {
  let open: FencedDatabase

  beforeAll(async () => {
    open = await openFencedDatabase(target, version)
  })
  beforeEach(() => open.reset())
  afterAll(() => open[Symbol.asyncDispose]())

  const acquire = () => open.broker.acquire('a', times)

  it('F1: runWith runs a section under the caller’s ticket and leaves its release to the caller', async () => {
    const ticket = await acquire()
    open.broker.log.length = 0
    const token = await open.fence.runWith(ticket, async (manager) => {
      await open.withdraw(manager)
      return fencedTicket().token
    })
    expect(token).toBe(ticket.token)
    expect(await open.balance()).toBe(90)
    expect(open.broker.log).toEqual([])
    expect(await failureOf(open.fence.runWith(ticket, open.withdraw))).toBeInstanceOf(StaleTokenError)
    expect(await open.balance()).toBe(90)
  })

  it('F1: claim fences a transaction that the caller began itself', async () => {
    const ticket = await acquire()
    await open.dataSource.transaction(async (manager) => {
      await open.fence.claim(manager, ticket)
      await open.withdraw(manager)
    })
    expect(await open.balance()).toBe(90)
    const [row] = await open.dataSource.query<{ token: string }[]>('SELECT max(token) AS token FROM ticketing_fence')
    expect(row).toEqual({ token: String(ticket.token) })
  })

  it('F2: a claim that is refused leaves a transaction that can only be rolled back', async () => {
    const ticket = await acquire()
    await open.fence.run('a', open.withdraw)
    const runner = open.dataSource.createQueryRunner()
    await runner.startTransaction()
    expect(await failureOf(open.fence.claim(runner.manager, ticket))).toBeInstanceOf(StaleTokenError)
    expect(await failureOf(open.withdraw(runner.manager))).toMatchObject({ code: '25P02' })
    await runner.rollbackTransaction()
    await runner.release()
    expect(await open.balance()).toBe(90)
  })

  it('F1: claim refuses what is no open top-level transaction of its DataSource, and sends nothing', async () => {
    const ticket = await acquire()
    const { dataSource, fence } = open
    const refused = async (manager: EntityManager, fault: RegExp) => {
      const error = await failureOf(fence.claim(manager, ticket))
      expect(error).toMatchObject({ code: 'FENCE_INVALID_ARGUMENT', outcome: 'not-executed' })
      expect(error.message).toMatch(fault)
    }
    await refused(dataSource.manager, /EntityManager of a transaction/)
    await refused(dataSource as unknown as EntityManager, /EntityManager of a transaction/)
    await refused(undefined as unknown as EntityManager, /EntityManager of a transaction/)

    const runner = dataSource.createQueryRunner()
    await refused(runner.manager, /was never begun/)
    await runner.query('BEGIN')
    await refused(runner.manager, /was never begun/)
    await runner.query('ROLLBACK')
    await runner.startTransaction()
    await runner.query('ROLLBACK')
    await refused(runner.manager, /no transaction is open/)
    await runner.release()
    await refused(runner.manager, /has ended/)

    await dataSource.transaction((manager) => manager.transaction((inner) => refused(inner, /nested one/)))
    await using other = await openFencedDatabase(target, version, { fenceName: 'other' })
    await other.dataSource.transaction((manager) => refused(manager, /another DataSource/))
  })
})
