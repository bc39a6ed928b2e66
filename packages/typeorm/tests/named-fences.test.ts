import { FenceError } from '@ticketing/core'
import { databaseTargets } from '@ticketing/testing/vitest'
import { describe, expect, it, vi } from 'vitest'
import { Fenced, fencedManager, fencedTicket, typeormFence } from '../src/index.js'
import { failureOf } from './support/assertions.js'
import { casesOf, openFencedDatabase, times } from './support/fenced-database.js'
import { typeormVersions } from './support/typeorm-versions.js'

describe.each(casesOf(databaseTargets(), typeormVersions))('named fences, $title', ({ target, version }) => {
  it('a name belongs to one live DataSource; the same one, or a new one after its end, takes it over', async () => {
    const first = await openFencedDatabase(target, version)
    const { broker } = first
    const second = new version.DataSource({ type: 'postgres', url: first.database.url, poolSize: 1 })
    const register = () => typeormFence(second, { broker, defaults: times })
    expect(register).toThrow(FenceError)
    expect(register).toThrow(/its own name/)
    typeormFence(first.dataSource, { broker, defaults: times })
    await first.dataSource.destroy()
    const fence = register()
    // Registered before its connection: it is not taken for one that was destroyed.
    expect(() => typeormFence(first.dataSource, { broker })).toThrow(/its own name/)
    await second.initialize()
    expect(await fence.run('a', () => fencedManager())).not.toBe(second.manager)
    await second.destroy()
    await first[Symbol.asyncDispose]()
  })

  it('two DataSources under two names: each name finds its own section, also one inside the other', async () => {
    await using one = await openFencedDatabase(target, version)
    await using two = await openFencedDatabase(target, version, { fenceName: 'two' })
    await one.fence.run('a', async (outer) => {
      expect(() => fencedManager('two')).toThrow(expect.objectContaining({ code: 'FENCE_NO_SECTION' }))
      await two.fence.run('b', async (inner, ticket) => {
        expect(fencedManager()).toBe(outer)
        expect(fencedManager('two')).toBe(inner)
        expect(fencedTicket('two')).toBe(ticket)
        expect((await failureOf(two.dataSource.query('SELECT 1'))).code).toBe('FENCE_OUTSIDE_SECTION')
        expect((await failureOf(one.dataSource.query('SELECT 1'))).code).toBe('FENCE_OUTSIDE_SECTION')
        await inner.query('SELECT 1')
        await outer.query('SELECT 1')
      })
      await two.dataSource.query('SELECT 1')
    })
    const method = { value: async () => fencedManager('two') }
    const decorate = Fenced({ key: () => 'a', fence: 'two' })
    decorate({}, 'method', method)
    expect((await method.value()).connection).toBe(two.dataSource)
  })

  it('two tables on one DataSource are two fences, each with a connection of its own', async () => {
    await using open = await openFencedDatabase(target, version, { poolSize: 2 })
    const { dataSource, broker } = open
    const audit = typeormFence(dataSource, { broker, table: 'audit_fence', name: 'audit', defaults: times })
    await audit.migrate()
    const pids = await open.fence.run('a', async (outer) => {
      const pid = await outer.query<unknown>('SELECT pg_backend_pid()')
      return await audit.run('a', async (inner) => {
        expect([fencedManager(), fencedManager('audit')]).toEqual([outer, inner])
        return [pid, await inner.query<unknown>('SELECT pg_backend_pid()')]
      })
    })
    expect(pids[0]).not.toEqual(pids[1])
  })

  it('a second copy of this package shares fences, sections and guard with the first', async () => {
    await using open = await openFencedDatabase(target, version)
    const { broker, dataSource } = open
    vi.resetModules()
    const copy = await import('../src/index.js')
    expect(copy.fencedManager).not.toBe(fencedManager)
    const method = { value: async () => fencedManager() }
    copy.Fenced({ key: () => 'a' })({}, 'method', method)
    expect((await method.value()).connection).toBe(dataSource)
    await open.fence.run('a', (manager, ticket) => {
      expect(copy.fencedManager()).toBe(manager)
      expect(copy.fencedTicket()).toBe(ticket)
    })
    const theirs = copy.typeormFence(dataSource, { broker, table: 'second_fence', name: 'second', defaults: times })
    await theirs.migrate()
    await theirs.run('a', async (manager) => {
      expect(fencedManager('second')).toBe(manager)
      expect((await failureOf(dataSource.query('SELECT 1'))).code).toBe('FENCE_OUTSIDE_SECTION')
    })
  })

  it('refuses a name that is none', async () => {
    await using open = await openFencedDatabase(target, version)
    for (const name of ['', 1, {}]) {
      expect(() => typeormFence(open.dataSource, { broker: open.broker, name: name as string })).toThrow(
        /must be a string that is not empty/,
      )
    }
  })
})
