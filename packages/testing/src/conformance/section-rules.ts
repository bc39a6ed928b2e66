import { expect } from 'vitest'
import { rule, type Suite } from './suite.js'
import { failureOf, Gate, ticketOf, withdraw } from './world.js'

/** What a section promises around its transaction: F3, F5, F8, F9, F10, F15. */
export function sectionRules(suite: Suite): void {
  rule(suite, 'F3, fault 13', 'whoever waits for a lock holds no connection of a pool of one', async (world) => {
    const granted = new Gate()
    const waiting = await world.open({
      broker: {
        async acquire(key, options) {
          await granted.wait()
          return await world.broker.acquire(key, options)
        },
      },
    })
    const section = waiting.fence.run(world.key(), world.options(), (handle) => waiting.query(handle, withdraw))
    await granted.reached
    expect(await waiting.queryPool('SELECT 1 AS one')).toMatchObject([{ one: 1 }])
    granted.open()
    await section
    expect(await world.balance()).toBe(90)
  })

  rule(
    suite,
    'F3',
    'with less than the minimum work left once there is a connection, nothing begins',
    async (world) => {
      const taken = new Gate()
      const blocking = world.one.transaction(async (tx) => {
        await world.one.queryCaller(tx, 'SELECT 1')
        await taken.wait()
      })
      await taken.reached
      let left = 30
      const key = world.key()
      const ticket = ticketOf(key, world.broker.nextToken(), () => left)
      const work = () => expect.unreachable('the work began')
      const section = failureOf(world.one.fence.runWith(ticket, { minWork: 2 }, work))
      left = 1
      taken.open()
      await blocking
      expect(await section).toMatchObject({ code: 'FENCE_LEASE_TOO_SHORT', outcome: 'not-executed' })
      expect(await world.highWater(key)).toBeUndefined()
    },
  )

  rule(
    suite,
    'F5',
    'work that meets a serialisation failure is run again with retries, and else fails as it did',
    async (world) => {
      if (world.level === 'read committed') return
      const section = (retries: number) => {
        let runs = 0
        return world.run(
          world.key(),
          async (handle) => {
            runs += 1
            await world.one.query(handle, "SELECT balance FROM account WHERE id = 'a'")
            if (runs === 1) await world.admin.query("UPDATE account SET balance = balance - 50 WHERE id = 'a'")
            await world.one.query(handle, withdraw)
            return runs
          },
          { retries },
        )
      }
      expect(await section(1)).toBe(2)
      expect(await world.balance()).toBe(40)
      const error = await failureOf(section(0))
      expect(String(error['code'])).not.toMatch(/^FENCE/)
      expect(await world.balance()).toBe(-10)
    },
  )

  rule(
    suite,
    'F8',
    'several keys are acquired in byte order, claimed in one transaction, and released',
    async (world) => {
      const name = world.key()
      const keys = [`${name}-é`, `${name}-z`, `${name}-Z`]
      await world.run([...keys, `${name}-z`], (handle) => world.one.query(handle, withdraw))
      const sorted = [`${name}-Z`, `${name}-z`, `${name}-é`]
      expect(world.broker.log).toEqual([
        ...sorted.map((key) => `acquire ${key}`),
        ...sorted.map((key) => `release ${key}`),
      ])
      for (const key of keys) expect(await world.highWater(key)).toBeDefined()
    },
  )

  rule(suite, 'F8', 'one stale ticket among several refuses them all', async (world) => {
    const [first, second] = [world.key(), world.key()]
    await world.admin.query(
      'INSERT INTO ticketing_fence (lock_key, token, attempt, claimed_at) VALUES ($1, $2, $3, now())',
      [Buffer.from(second), String(world.broker.lastToken + 1_000n), Buffer.alloc(16)],
    )
    const error = await failureOf(world.run([first, second], (handle) => world.one.query(handle, withdraw)))
    expect(error).toMatchObject({ code: 'FENCE_STALE_TOKEN', key: second })
    expect(await world.highWater(first)).toBeUndefined()
    expect(await world.balance()).toBe(100)
  })

  rule(suite, 'F9', 'a section inside a section of the same pool and table is refused at once', async (world) => {
    for (const inner of [world.one.fence, world.one.twin()]) {
      const key = world.key()
      const error = await failureOf(world.run(world.key(), () => inner.run(key, world.options(), () => undefined)))
      expect(error).toMatchObject({ code: 'FENCE_NESTED', outcome: 'not-executed' })
      expect(world.broker.log).not.toContain(`acquire ${key}`)
    }
  })

  rule(suite, 'F9, F12, fault 15', 'a savepoint inside may be rolled back, one in another too', async (world) => {
    const key = world.key()
    await world.run(key, async (handle) => {
      await world.one.query(handle, withdraw)
      const failing = (inner: unknown) => world.one.query(inner, 'SELECT 1/0')
      if (world.one.savepoint === undefined) {
        for (const sql of ['SAVEPOINT one', 'SAVEPOINT two']) await world.one.query(handle, sql)
        await failing(handle).catch(() => undefined)
        for (const sql of ['ROLLBACK TO two', 'RELEASE one']) await world.one.query(handle, sql)
      } else {
        await world.one.savepoint(handle, async (inner) => {
          await world.one.savepoint?.(inner, failing).catch(() => undefined)
          await world.one.query(inner, withdraw)
        })
        return
      }
      await world.one.query(handle, withdraw)
    })
    expect(await world.balance()).toBe(80)
    expect(await world.highWater(key)).toBe(world.broker.lastToken)
  })

  rule(suite, 'F10, fault 16', 'the ticket is released after the transaction has ended', async (world) => {
    const key = world.key()
    let atRelease: number | undefined
    const released = new Promise<void>((resolve) => {
      world.broker.onRelease = async () => {
        atRelease = await world.balance()
        resolve()
        return 'released'
      }
    })
    await world.run(key, (handle) => world.one.query(handle, withdraw))
    await released
    expect(atRelease).toBe(90)
  })

  rule(suite, 'F10, fault 8', 'a release that fails changes no result; it is reported on the side', async (world) => {
    const key = world.key()
    const failure = new Error('no answer')
    world.broker.onRelease = () => Promise.reject(failure)
    const reported = new Promise((resolve) => {
      const stop = world.one.fence.on('release-failed', (event) => {
        stop()
        resolve(event)
      })
    })
    expect(await world.run(key, () => 'committed')).toBe('committed')
    expect(await reported).toEqual({ key, token: world.broker.lastToken, error: failure })
  })

  rule(
    suite,
    'F15',
    'what the work throws reaches the caller as the same object, and nothing is written',
    async (world) => {
      for (const thrown of [new Error('not today'), 'a text', { code: 'P2034' }, undefined]) {
        const result = await world
          .run(world.key(), async (handle) => {
            await world.one.query(handle, withdraw)
            throw thrown as Error
          })
          .then(
            () => ({ resolved: true }),
            (error: unknown) => ({ error }),
          )
        // A thing that looks like a serialisation failure of the database may be retried, but stays what it is.
        expect(result).toHaveProperty('error')
        expect((result as { error: unknown }).error).toBe(thrown)
      }
      expect(await world.balance()).toBe(100)
    },
  )

  rule(
    suite,
    'F15',
    'the caller’s signal rolls back between claim and COMMIT, and rejects with its reason',
    async (world) => {
      const controller = new AbortController()
      const reason = new Error('enough')
      const error = await failureOf(
        world.run(
          world.key(),
          async (handle) => {
            await world.one.query(handle, withdraw)
            controller.abort(reason)
            await new Promise(() => undefined)
          },
          { signal: controller.signal },
        ),
      )
      expect(error).toBe(reason)
      expect(await world.balance()).toBe(100)
      expect(world.broker.log.at(-1)).toMatch(/^release/)
      expect(await world.run(world.key(), () => 'sound')).toBe('sound')
    },
  )
}
