import { describe, expect, test } from 'vitest'
import { createFence, currentSection } from '../src/index.js'
import { Gate, rejection, settle } from './support/gate.js'
import { hostKinds, RecordingHost } from './support/recording-host.js'
import { defaults, sectionWorld } from './support/section-world.js'

describe.each(hostKinds)('$shape, $evidence', (kind) => {
  /** A fence beside the world's own, on its host or on another one. */
  function fenceBeside(
    { broker, host }: ReturnType<typeof sectionWorld>,
    options: { table?: string; host?: RecordingHost } = {},
  ) {
    return createFence(options.host ?? host, { broker, defaults, table: options.table })
  }

  test('F9: a section inside a section of the same fence is refused at once, whatever its key', async () => {
    for (const key of ['a', 'b']) {
      const { fence, journal } = sectionWorld(kind)
      let inner: unknown
      await fence.run('a', async () => {
        inner = await rejection(fence.run([key, 'c'], () => undefined))
      })
      expect(inner).toMatchObject({ code: 'FENCE_NESTED', outcome: 'not-executed' })
      expect((inner as Error).message).toContain(`A section on "${key}", "c" was started inside`)
      expect((inner as Error).message).toContain('of the same fence on "a"')
      expect((inner as Error).message).toContain('Pass all keys to the outer section')
      expect(journal.filter((step) => step.startsWith('acquire'))).toEqual(['acquire a'])
      expect(journal.at(-1)).toBe('release a')
    }
  })

  test('F9: the refusal is the work’s own error where it does not catch it, and the outer section rolls back', async () => {
    const { fence, database, journal } = sectionWorld(kind)
    const error = await rejection(
      fence.run('a', async (tx) => {
        await tx.query('UPDATE one')
        await fence.run('b', () => undefined)
      }),
    )
    expect(error).toMatchObject({ code: 'FENCE_NESTED' })
    expect(journal).toContain('ROLLBACK')
    expect(database.committed).toEqual([])
  })

  test('F9: another fence object on the same pool and table is the same fence', async () => {
    const world = sectionWorld(kind)
    const twin = fenceBeside(world)
    const error = await rejection(world.fence.run('a', () => twin.run('b', () => undefined)))
    expect(error).toMatchObject({ code: 'FENCE_NESTED' })
    expect(world.journal).not.toContain('acquire b')
  })

  test('F9: a fence on another table, or on another pool, is another fence', async () => {
    const world = sectionWorld(kind)
    const otherTable = fenceBeside(world, { table: 'other_fence' })
    const otherPool = fenceBeside(world, { host: new RecordingHost(kind, world.database) })
    const result = await world.fence.run('a', () => otherTable.run('b', () => otherPool.run('c', () => 'innermost')))
    expect(result).toBe('innermost')
    expect(world.journal.filter((step) => step.startsWith('release'))).toEqual(['release c', 'release b', 'release a'])
  })

  test('F9: the whole chain of outer sections counts, not only the innermost', async () => {
    const world = sectionWorld(kind)
    const other = fenceBeside(world, { table: 'other_fence' })
    const error = await rejection(
      world.fence.run('a', () => other.run('b', () => world.fence.run('c', () => undefined))),
    )
    expect(error).toMatchObject({ code: 'FENCE_NESTED' })
    expect((error as Error).message).toContain('of the same fence on "a"')
    expect(world.journal).not.toContain('acquire c')
  })

  test('F9: sections side by side are not inside each other', async () => {
    const { fence } = sectionWorld(kind)
    const results = await Promise.all(['a', 'b', 'a'].map((key) => fence.run(key, (_tx, ticket) => ticket.key)))
    expect(results).toEqual(['a', 'b', 'a'])
  })

  test('F9: work that nobody awaits is inside its section as long as that lives, and no longer', async () => {
    const { fence, database } = sectionWorld(kind)
    const commit = new Gate()
    database.at('COMMIT', commit.wait)
    let early: unknown
    let late: Promise<unknown> | undefined
    const outer = fence.run('a', async () => {
      late = commit.reached.then(() => fence.run('c', () => 'after the work'))
      early = await settle().then(() => rejection(fence.run('b', () => undefined)))
    })
    await commit.reached
    expect(early).toMatchObject({ code: 'FENCE_NESTED' })
    expect(await late).toBe('after the work')
    commit.open()
    await outer
  })

  test('F9: after the lease ended inside, the work that goes on is no longer inside', async () => {
    const { fence, time } = sectionWorld(kind)
    const goOn = new Gate()
    let later: Promise<unknown> | undefined
    const outer = fence.run('a', async () => {
      later = goOn.wait().then(() => fence.run('a', (_tx, ticket) => ticket.token))
      time.advance(10_000)
      await later
    })
    expect(await rejection(outer)).toMatchObject({ code: 'FENCE_LEASE_EXPIRED' })
    goOn.open()
    expect(await later).toBe(102n)
  })

  test('F9: the current section is found through the async context, with the handle of its own transaction', async () => {
    const { fence, host } = sectionWorld(kind)
    const find = () => currentSection((section) => section.pool === host.pool)
    expect(find()).toBeUndefined()
    await fence.run(['b', 'a'], async (tx) => {
      await settle()
      expect(find()).toMatchObject({ keys: ['a', 'b'], table: 'ticketing_fence', live: true })
      expect(find()?.handle).toBe(tx)
      expect(currentSection((section) => section.pool !== host.pool)).toBeUndefined()
    })
    expect(find()).toBeUndefined()
  })
})
