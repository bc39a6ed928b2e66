import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { rule, type Suite } from './suite.js'
import { failureOf, withdraw } from './world.js'

/** What holds for the fence's tables. */
export function schemaRules(suite: Suite): void {
  rule(suite, 'F1', 'without its tables nothing is written, and the error says what to do', async (world) => {
    const bare = await world.open({ table: 'not_there' })
    const error = await failureOf(
      bare.fence.run(world.key(), world.options(), (handle) => bare.query(handle, withdraw)),
    )
    expect(error).toMatchObject({ code: 'FENCE_NOT_MIGRATED', outcome: 'not-executed' })
    expect(await world.balance()).toBe(100)
  })

  rule(suite, 'F1', 'a table of another name and schema', async (world) => {
    await world.admin.query('CREATE SCHEMA IF NOT EXISTS "My Schema"')
    const named = await world.open({ table: 'My Schema.fence "of" mine' })
    await Promise.all([named.fence.migrate(), named.fence.migrate()])
    await named.fence.run(world.key(), world.options(), () => undefined)
    const { rows } = await world.admin.query('SELECT token::text FROM "My Schema"."fence ""of"" mine"')
    expect(rows).toEqual([{ token: String(world.broker.lastToken) }])
  })

  rule(
    suite,
    'F1',
    'a role that may SELECT, INSERT and UPDATE the fence and SELECT its floor is enough',
    async (world) => {
      const role = `ticketing_test_${randomBytes(8).toString('hex')}`
      await world.admin.query(
        `CREATE ROLE ${role} LOGIN PASSWORD '${role}'; GRANT SELECT, UPDATE ON account TO ${role}; ` +
          `GRANT SELECT, INSERT, UPDATE ON ticketing_fence TO ${role}; GRANT SELECT ON ticketing_fence_floor TO ${role}`,
      )
      const url = new URL(world.url)
      url.username = role
      url.password = role
      const lesser = await world.open({ url: url.href })
      try {
        await lesser.fence.migrate()
        const key = world.key()
        await lesser.fence.run(key, world.options(), (handle) => lesser.query(handle, withdraw))
        world.broker.grantNext(world.broker.lastToken)
        expect(await failureOf(lesser.fence.run(key, world.options(), () => undefined))).toMatchObject({
          code: 'FENCE_STALE_TOKEN',
        })
        expect(await world.balance()).toBe(90)
      } finally {
        await lesser.close()
        await world.admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)
      }
    },
  )
}
