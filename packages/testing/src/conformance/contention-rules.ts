import { expect } from 'vitest'
import { fakeBroker } from '../fake-broker.js'
import { rule, type Suite } from './suite.js'
import type { ConformanceWorld } from './world.js'

const sections = 1_000
const workers = 16
/** Every so many sections one holder stands still past its lease. */
const stallEvery = 97

/** Many at once on one key: the count must be exact. */
export function contentionRules(suite: Suite): void {
  rule(
    suite,
    'F1, F2',
    `${sections} contended sections, with holders that stall past their lease, count exactly`,
    async (world) => {
      const broker = fakeBroker({ firstToken: world.broker.lastToken + 1n })
      const processes = await Promise.all([0, 1, 2, 3].map(() => world.open({ broker, connectionsMax: 2 })))
      const key = world.key()
      let started = 0
      let committed = 0
      const refused = new Map<unknown, number>()
      const worker = async (number: number) => {
        const process = processes[number % processes.length] as (typeof processes)[number]
        while (started < sections) {
          const stalls = ++started % stallEvery === 0
          try {
            await process.fence.run(
              key,
              { wait: 250, lease: 30, minWork: 0, isolation: world.level },
              async (handle) => {
                const rows = await process.query(handle, "SELECT balance FROM account WHERE id = 'a'")
                // Time passes for everybody, so the lease ends here and the key passes on.
                if (stalls) broker.clock.advance(31)
                await process.query(
                  handle,
                  `UPDATE account SET balance = ${Number(rows[0]?.['balance']) + 1} WHERE id = 'a'`,
                )
              },
            )
            committed += 1
          } catch (error) {
            const { code } = error as { code?: unknown }
            refused.set(code, (refused.get(code) ?? 0) + 1)
          }
        }
      }
      await Promise.all(Array.from({ length: workers }, (_, number) => worker(number)))
      expect(await world.balance()).toBe(100 + committed)
      expect(committed).toBeGreaterThan(sections / 2)
      expect(refused.get('FENCE_LEASE_EXPIRED')).toBeGreaterThan(0)
    },
  )

  rule(suite, 'F1, F2', 'without any exclusion by the lock the fence alone keeps the count exact', async (world) => {
    const processes = await Promise.all([0, 1, 2, 3].map(() => world.open({ connectionsMax: 2 })))
    const key = world.key()
    const runs = 200
    let started = 0
    const outcomes: string[] = []
    const worker = async (number: number) => {
      const process = processes[number % processes.length] as (typeof processes)[number]
      while (started++ < runs) outcomes.push(await increment(world, process, key))
    }
    await Promise.all(Array.from({ length: workers }, (_, number) => worker(number)))
    const committed = outcomes.filter((outcome) => outcome === 'committed').length
    expect(await world.balance()).toBe(100 + committed)
    expect(outcomes).toContain('FENCE_STALE_TOKEN')
    expect(committed).toBeGreaterThan(0)
  })
}

async function increment(world: ConformanceWorld, process: ConformanceWorld['one'], key: string): Promise<string> {
  try {
    await process.fence.run(key, world.options(), async (handle) => {
      const rows = await process.query(handle, "SELECT balance FROM account WHERE id = 'a'")
      await process.query(handle, `UPDATE account SET balance = ${Number(rows[0]?.['balance']) + 1} WHERE id = 'a'`)
    })
    return 'committed'
  } catch (error) {
    return String((error as { code?: unknown }).code)
  }
}
