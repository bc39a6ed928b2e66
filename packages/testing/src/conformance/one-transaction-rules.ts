import { expect } from 'vitest'
import { rule, type Suite } from './suite.js'
import { type ConformanceWorld, withdraw } from './world.js'

/** What tells one transaction from two, also where the pool has a second connection to offer: F1. */
export function oneTransactionRules(suite: Suite): void {
  rule(
    suite,
    'F1, fault 5',
    'claim and work are written by one transaction on one connection of several',
    async (world) => {
      const process = await world.open({ connectionsMax: 3 })
      const key = world.key()
      await process.fence.run(key, world.options(), (handle) => process.query(handle, withdraw))
      expect(await writtenTogether(world, key)).toEqual([{ same: true }])
    },
  )

  rule(suite, 'F1, F2', 'what fails takes back the claim and the work, on one connection of several', async (world) => {
    const process = await world.open({ connectionsMax: 3 })
    const key = world.key()
    const reason = new Error('not today')
    const section = process.fence.run(key, world.options(), async (handle) => {
      await process.query(handle, withdraw)
      throw reason
    })
    await expect(section).rejects.toBe(reason)
    expect(await world.balance()).toBe(100)
    expect(await world.highWater(key)).toBeUndefined()
  })
}

/** Whether one transaction wrote the key's row and the account. */
async function writtenTogether(world: ConformanceWorld, key: string): Promise<unknown[]> {
  const { rows } = await world.admin.query<{ same: boolean }>(
    'SELECT fence.xmin::text = account.xmin::text AS same FROM ticketing_fence AS fence, account ' +
      "WHERE fence.lock_key = $1 AND account.id = 'a'",
    [Buffer.from(key)],
  )
  return rows
}
