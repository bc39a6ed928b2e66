import { setTimeout as delay } from 'node:timers/promises'
import { FenceError, StaleTokenError } from '@ticketing/core'
import { databaseTargets } from '@ticketing/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ScriptedBroker } from './support/scripted-broker.js'
import { untilBlocked } from './support/server-view.js'
import { rejection, TestBed } from './support/test-bed.js'

const lease = 1
const leaseMilliseconds = 1000 * lease
/** What the end of a claim may come late by on a busy machine. */
const latenessMilliseconds = 250

describe.each(databaseTargets())('a claim that waits for its row on $name', (target) => {
  let bed: TestBed
  beforeAll(async () => {
    bed = await TestBed.create(target)
  })
  afterAll(() => bed[Symbol.asyncDispose]())

  /** Somebody who locks the rows of these keys and does not go on. Ends when it is let go. */
  async function lockRows(...keys: string[]): Promise<() => Promise<void>> {
    const client = await bed.client()
    await client.query('BEGIN')
    for (const key of keys) {
      await client.query('SELECT 1 FROM ticketing_fence WHERE lock_key = $1 FOR UPDATE', [Buffer.from(key)])
    }
    return async () => {
      await client.query('ROLLBACK')
    }
  }

  async function expectBlocked(section: Promise<unknown>, causeCodes: RegExp): Promise<number> {
    const started = performance.now()
    const error = await rejection(section)
    const elapsed = performance.now() - started
    expect(error).toBeInstanceOf(FenceError)
    expect(error).not.toBeInstanceOf(StaleTokenError)
    expect(error).toMatchObject({ code: 'FENCE_BLOCKED', outcome: 'not-executed' })
    expect((error as { cause: { code: string } }).cause.code).toMatch(causeCodes)
    expect(elapsed).toBeLessThan(leaseMilliseconds + latenessMilliseconds)
    return elapsed
  }

  it('F4: ends as blocked before its lease does, never as stale, and the row stays as it was', async () => {
    const broker = new ScriptedBroker()
    const pool = bed.pool({ max: 1 })
    const fence = bed.fence(broker, {}, pool)
    await fence.run('locked', () => undefined)
    const row = await bed.fenceRow('locked')
    const letGo = await lockRows('locked')
    let worked = false
    const elapsed = await expectBlocked(
      fence.run('locked', { lease }, () => {
        worked = true
      }),
      /^55P03$/,
    )
    expect(elapsed).toBeGreaterThan(leaseMilliseconds * 0.8)
    expect(worked).toBe(false)
    expect(broker.log.at(-1)).toBe('release locked')
    await letGo()
    expect(await bed.fenceRow('locked')).toEqual(row)
    // The connection was sound and is used again.
    expect(pool.totalCount).toBe(1)
    await fence.run('locked', () => undefined)
    expect(pool.totalCount).toBe(1)
  })

  it('F4: the same for a key that has no row yet, behind an insert that is not committed', async () => {
    const client = await bed.client()
    await client.query('BEGIN')
    await client.query(
      "INSERT INTO ticketing_fence (lock_key, token, attempt, claimed_at) VALUES ('new', 1, '', now())",
    )
    await expectBlocked(
      bed.fence(new ScriptedBroker()).run('new', { lease }, () => undefined),
      /^55P03$/,
    )
    await client.query('ROLLBACK')
    expect(await bed.fenceRow('new')).toBeUndefined()
  })

  it('F4: a shorter timeout of the database that ends the claim means blocked too', async () => {
    await using own = await TestBed.create(target)
    await own.fence(new ScriptedBroker()).run('short', () => undefined)
    await own.setDefault('statement_timeout', '100ms')
    const fence = own.fence(new ScriptedBroker(2_000n))
    const client = await own.client()
    await client.query('BEGIN')
    await client.query('SELECT 1 FROM ticketing_fence FOR UPDATE')
    await expectBlocked(
      fence.run('short', { lease }, () => undefined),
      /^57014$/,
    )
    await client.query('ROLLBACK')
  })

  it('F4, F8: several keys share the bound: waits one after another stay within the lease', async () => {
    const broker = new ScriptedBroker()
    const fence = bed.fence(broker)
    const keys = ['shared-1', 'shared-2', 'shared-3']
    await fence.run(keys, () => undefined)
    const before = await Promise.all(keys.map((key) => bed.fenceRow(key)))
    const letGo = [await lockRows('shared-1'), await lockRows('shared-2'), await lockRows('shared-3')] as const
    const blocked = expectBlocked(
      fence.run(keys, { lease }, () => undefined),
      /^(55P03|25P04)$/,
    )
    // Each of the first two rows comes free within its own share of the bound, a moment before that is over.
    for (const free of letGo.slice(0, 2)) {
      await untilBlocked(bed.admin)
      await delay(leaseMilliseconds * 0.2)
      await free()
    }
    await blocked
    await letGo[2]()
    expect(await Promise.all(keys.map((key) => bed.fenceRow(key)))).toEqual(before)
  })
})
