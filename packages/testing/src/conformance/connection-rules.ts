import { expect } from 'vitest'
import { type Fault, FaultProxy } from '../fault-proxy.js'
import type { OpenSubject } from './subject.js'
import { rule, type Suite } from './suite.js'
import { failureOf, withdraw } from './world.js'

/** What a section promises when its connection or its COMMIT fails: F6, F13, faults 2, 4, 11 and 19. */
export function connectionRules(suite: Suite): void {
  rule(suite, 'F13, fault 2', 'a COMMIT that a deferred constraint refuses is no success', async (world) => {
    const error = await failureOf(
      world.run(world.key(), (handle) => world.one.query(handle, "INSERT INTO child VALUES ('nobody')")),
    )
    expect(error).toMatchObject({ code: 'FENCE_COMMIT_FAILED', outcome: 'not-executed' })
    expect((await world.admin.query('SELECT 1 FROM child')).rowCount).toBe(0)
    await world.run(world.key(), (handle) => world.one.query(handle, withdraw))
    expect(await world.balance()).toBe(90)
  })

  rule(
    suite,
    'F13, fault 4',
    'a connection whose COMMIT was refused is never used again',
    async (world) => {
      const before = await backend(world.one)
      await failureOf(
        world.run(world.key(), (handle) => world.one.query(handle, "INSERT INTO child VALUES ('nobody')")),
      )
      expect(await backend(world.one)).not.toBe(before)
    },
    'destroys connections',
  )

  for (const fault of ['cut', 'cut the answer'] as const satisfies readonly Fault[]) {
    rule(suite, 'F6, F13, fault 2', `COMMIT is sent and its connection is gone (${fault}): unknown`, async (world) => {
      await using proxy = await FaultProxy.before(world.url)
      const process = await world.open({ url: proxy.url })
      await process.fence.run(world.key(), world.options(), () => undefined)
      const destroyed = reports(process)
      proxy.at('COMMIT', fault)
      const error = await failureOf(
        process.fence.run(world.key(), world.options(), (handle) => process.query(handle, withdraw)),
      )
      expect(error).toMatchObject({ code: 'FENCE_COMMIT_UNKNOWN', outcome: 'unknown' })
      expect(await world.balance()).toBe(fault === 'cut' ? 100 : 90)
      if (suite.subject.missing?.['destroys connections'] === undefined) expect(destroyed).toHaveLength(1)
      expect(await process.fence.run(world.key(), world.options(), () => 'sound')).toBe('sound')
    })
  }

  rule(suite, 'F13, fault 19', 'a ROLLBACK that fails does not hide what the work threw', async (world) => {
    await using proxy = await FaultProxy.before(world.url)
    const process = await world.open({ url: proxy.url })
    await process.fence.run(world.key(), world.options(), () => undefined)
    proxy.at('ROLLBACK', 'cut')
    const reason = new Error('not today')
    const error = await failureOf(
      process.fence.run(world.key(), world.options(), async (handle) => {
        await process.query(handle, withdraw)
        throw reason
      }),
    )
    expect(error).toBe(reason)
    expect(await process.fence.run(world.key(), world.options(), () => 'sound')).toBe('sound')
    expect(await world.balance()).toBe(100)
  })

  rule(
    suite,
    'F13, fault 11',
    'a backend that is killed inside is no success and no crash, and is not used again',
    async (world) => {
      let pid: unknown
      const error = await failureOf(
        world.run(world.key(), async (handle) => {
          pid = (await world.one.query(handle, 'SELECT pg_backend_pid() AS pid'))[0]?.['pid']
          await world.admin.query('SELECT pg_terminate_backend($1)', [pid])
          await world.until('SELECT 1 WHERE NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)', [pid])
          return 'all well'
        }),
      )
      expect(error).toBeInstanceOf(Error)
      expect(await backend(world.one)).not.toBe(pid)
      await world.run(world.key(), (handle) => world.one.query(handle, withdraw))
      expect(await world.balance()).toBe(90)
    },
  )

  rule(suite, 'F13', 'a BEGIN whose connection breaks begins nothing, and the next section works', async (world) => {
    await using proxy = await FaultProxy.before(world.url)
    const process = await world.open({ url: proxy.url })
    await process.fence.run(world.key(), world.options(), () => undefined)
    for (const text of ['BEGIN', 'START TRANSACTION']) proxy.at(text, 'cut')
    const key = world.key()
    await failureOf(process.fence.run(key, world.options(), (handle) => process.query(handle, withdraw)))
    for (const text of ['BEGIN', 'START TRANSACTION']) proxy.at(text, 'hold').letGo()
    expect(await world.balance()).toBe(100)
    expect(await world.highWater(key)).toBeUndefined()
    // Which of the two this library sends is its business: the plan for the other one is still there.
    const again = process.fence.run(world.key(), world.options(), () => 'sound').catch(() => 'once more')
    if ((await again) === 'once more') await process.fence.run(world.key(), world.options(), () => 'sound')
  })

  rule(
    suite,
    'F13, fault 4',
    'a connection that comes out of the pool in the middle of a transaction is not used',
    async (world) => {
      await world.one.queryPool('BEGIN')
      await world.one.queryPool(withdraw)
      await world.run(world.key(), () => undefined)
      expect(await world.balance()).toBe(100)
    },
    'sees a connection’s state',
  )
}

async function backend(process: OpenSubject): Promise<unknown> {
  return (await process.queryPool('SELECT pg_backend_pid() AS pid'))[0]?.['pid']
}

function reports(process: OpenSubject): unknown[] {
  const seen: unknown[] = []
  process.fence.on('connection-destroyed', ({ error }) => seen.push(error))
  return seen
}
