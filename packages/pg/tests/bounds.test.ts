import type { IsolationLevel } from '@ticketing/core'
import { databaseTargets } from '@ticketing/testing/vitest'
import { describe, expect, it } from 'vitest'
import type { PgTransaction } from '../src/index.js'
import { noSignal, reshapedTickets } from './support/reshaped-tickets.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { rejection, TestBed } from './support/test-bed.js'

const timeoutsBefore17 = ['idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout']

describe.each(databaseTargets())('the database’s own bounds on $name', (target) => {
  const modern = target.major >= 17
  /** Every timeout that the server has, and those that the fence sets. */
  const present = modern ? [...timeoutsBefore17, 'transaction_timeout'] : timeoutsBefore17
  const set = modern ? ['lock_timeout', 'transaction_timeout'] : timeoutsBefore17

  async function timeouts(queryable: Pick<PgTransaction, 'query'>): Promise<Record<string, number>> {
    const { rows } = await queryable.query<{ name: string; ms: number }>(
      'SELECT name, setting::int AS ms FROM pg_settings WHERE name = ANY($1)',
      [present],
    )
    return Object.fromEntries(rows.map(({ name, ms }) => [name, ms]))
  }
  const everyDefault = async (bed: TestBed, values: Record<string, string>) => {
    for (const name of present) await bed.setDefault(name, values[name] ?? '')
  }

  it('F4: a server without timeouts of its own gets the remaining lease as its bound', async () => {
    await using bed = await TestBed.create(target)
    const inside = await bed.fence(new ScriptedBroker()).run('none', { lease: 10 }, (tx) => timeouts(tx))
    for (const name of present) {
      if (!set.includes(name)) expect(inside[name]).toBe(0)
      else {
        expect(inside[name]).toBeGreaterThan(0)
        expect(inside[name]).toBeLessThanOrEqual(10_000)
      }
    }
    // The claim's wait ends by a margin before the transaction's bound does, so that the two are told apart.
    expect(inside['lock_timeout']).toBeLessThanOrEqual(9_500)
  })

  it('F4: shorter timeouts of the database are kept', async () => {
    await using bed = await TestBed.create(target)
    const shorter = {
      idle_in_transaction_session_timeout: '3500ms',
      lock_timeout: '2500ms',
      statement_timeout: '3s',
      transaction_timeout: '4s',
    }
    await everyDefault(bed, shorter)
    const inside = await bed.fence(new ScriptedBroker()).run('shorter', { lease: 10 }, async (tx) => {
      await tx.query('SELECT 1')
      return await timeouts(tx)
    })
    const expected = { idle_in_transaction_session_timeout: 3500, lock_timeout: 2500, statement_timeout: 3000 }
    expect(inside).toEqual(modern ? { ...expected, transaction_timeout: 4000 } : expected)
  })

  it('F4: longer timeouts of the role are lowered, in whatever unit they are shown', async () => {
    await using bed = await TestBed.create(target)
    const role = await bed.role()
    const longer: Record<string, [string, number]> = {
      idle_in_transaction_session_timeout: ['2d', 172_800_000],
      lock_timeout: ['90min', 5_400_000],
      statement_timeout: ['3601s', 3_601_000],
      transaction_timeout: ['1h', 3_600_000],
    }
    for (const name of present) {
      await bed.admin.query(`ALTER ROLE ${role.name} SET ${name} = '${longer[name]?.[0]}'`)
    }
    await bed.admin.query(`ALTER ROLE ${role.name} SET intervalstyle = 'iso_8601'`)
    const pool = bed.pool({ connectionString: role.url })
    const inside = await bed.fence(new ScriptedBroker(), {}, pool).run('longer', { lease: 10 }, (tx) => timeouts(tx))
    for (const name of present) {
      if (set.includes(name)) expect(inside[name]).toBeLessThanOrEqual(10_000)
      else expect(inside[name]).toBe(longer[name]?.[1])
      expect(inside[name]).toBeGreaterThan(0)
    }
  })

  it.each(['20s', '0'])(
    'F4: with a database default of %s the connection is as before after the section',
    async (value) => {
      await using bed = await TestBed.create(target)
      await everyDefault(bed, Object.fromEntries(present.map((name) => [name, value])))
      const pool = bed.pool({ max: 1 })
      const fence = bed.fence(new ScriptedBroker(), {}, pool)
      const before = await timeouts(pool)
      let inside: Record<string, number> = {}
      await fence.run('after', { lease: 5 }, async (tx) => {
        inside = await timeouts(tx)
      })
      expect(inside).not.toEqual(before)
      expect(await timeouts(pool)).toEqual(before)
      await rejection(fence.run('after', { lease: 5 }, () => Promise.reject(new Error('rolled back'))))
      expect(await timeouts(pool)).toEqual(before)
      expect(pool.totalCount).toBe(1)
    },
  )

  it.each([
    ['longer', '10s', 1],
    ['shorter', '800ms', 10],
  ])(
    'F4: of a %s timeout that already runs and the lease, the shorter one ends the transaction',
    async (_, own, lease) => {
      await using bed = await TestBed.create(target)
      await bed.setDefault(modern ? 'transaction_timeout' : 'statement_timeout', own)
      // The process does not notice the end of its lease, so only the database can end this.
      const broker = reshapedTickets(new ScriptedBroker(), () => ({ signal: noSignal }))
      const started = performance.now()
      const error = await rejection(bed.fence(broker).run('armed', { lease }, (tx) => tx.query('SELECT pg_sleep(9)')))
      expect(performance.now() - started).toBeLessThan(3_000)
      // F15: only where the lease is over as well does the database's own error become the cause.
      const database = { code: modern ? '25P04' : '57014' }
      expect(error).toMatchObject(own === '10s' ? { code: 'FENCE_LEASE_EXPIRED', cause: database } : database)
    },
  )

  it.runIf(!modern)('F4: a timeout that the work itself sets is kept if it is shorter and lowered if not', async () => {
    await using bed = await TestBed.create(target)
    await bed.fence(new ScriptedBroker()).run('local', { lease: 10 }, async (tx) => {
      await tx.query("SET LOCAL statement_timeout = '1h'")
      expect((await timeouts(tx))['statement_timeout']).toBeLessThanOrEqual(10_000)
      await tx.query("SET LOCAL statement_timeout = '1500ms'")
      expect((await timeouts(tx))['statement_timeout']).toBe(1500)
    })
  })

  it.each(['read committed', 'repeatable read', 'serializable'] satisfies IsolationLevel[])(
    'F4: the bounds hold at isolation %s as well',
    async (isolation) => {
      await using bed = await TestBed.create(target)
      const inside = await bed.fence(new ScriptedBroker()).run('level', { lease: 10, isolation }, (tx) => timeouts(tx))
      for (const name of set) expect(inside[name]).toBeGreaterThan(0)
    },
  )
})
