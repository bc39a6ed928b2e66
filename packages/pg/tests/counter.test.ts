import { setTimeout as delay } from 'node:timers/promises'
import { type Broker, TicketBroker } from '@ticketing/client'
import { createFence, type Dialect, type Fence, postgres } from '@ticketing/core'
import { startServer } from '@ticketing/server'
import { databaseTargets } from '@ticketing/testing/vitest'
import { describe, expect, it } from 'vitest'
import { type PgTransaction, pgFence } from '../src/index.js'
import { PgHost } from '../src/pg-host.js'
import { noSignal, reshapedTickets } from './support/reshaped-tickets.js'
import { type Random, seededRandom, seedOfThisRun } from './support/seeded-random.js'
import { until } from './support/server-view.js'
import { TestBed } from './support/test-bed.js'

const workers = 20
const leaseSeconds = 1
const stallMilliseconds = 1_000 * leaseSeconds + 200
const points = ['before the claim', 'before the read', 'between read and write', 'before COMMIT'] as const
type Point = (typeof points)[number]

/** Where some of the sections stall past their lease, by the number of the section, and how they do it. */
class Stalls {
  readonly #bySection: ReadonlyMap<number, Point>
  readonly #stall: (point: Point, token: bigint) => Promise<unknown>
  readonly #byToken = new Map<bigint, Point>()
  #sections = 0
  /** The ones that came to pass. */
  readonly done: Point[] = []

  constructor(bySection: ReadonlyMap<number, Point>, stall: (point: Point, token: bigint) => Promise<unknown>) {
    this.#bySection = bySection
    this.#stall = stall
  }

  /** A section was granted this token. @returns whether it will stall. */
  granted(token: bigint): boolean {
    const point = this.#bySection.get(++this.#sections)
    if (point !== undefined) this.#byToken.set(token, point)
    return point !== undefined
  }

  async at(point: Point, token: bigint): Promise<void> {
    if (this.#byToken.get(token) !== point) return
    this.done.push(point)
    await this.#stall(point, token)
  }
}

type Section = Fence<PgTransaction, { wait: 60; lease: 1; minWork: 0 }>
interface Run {
  readonly succeeded: number
  readonly refused: Record<string, number>
}

/**
 * A holder that is stopped does not see its lease end: its tickets say that there is time left. So neither the handle nor
 * the database's bound ends it, and what stands between its late write and the row is the claim alone.
 */
function stallingBroker(broker: Broker, stalls: Stalls): Broker {
  return reshapedTickets(broker, async ({ token }) => {
    if (!stalls.granted(token)) return {}
    await stalls.at('before the claim', token)
    return { signal: noSignal, remaining: () => 10 * leaseSeconds }
  })
}

/** Each worker increments the row as often as `increments` says, reading it and writing what it read plus one. */
async function count(fence: Section, increments: number, stalls: Stalls): Promise<Run> {
  let succeeded = 0
  const refused: Record<string, number> = {}
  const increment = async (tx: PgTransaction, token: bigint) => {
    await stalls.at('before the read', token)
    const { rows } = await tx.query<{ balance: string }>("SELECT balance FROM account WHERE id = 'counter'")
    await stalls.at('between read and write', token)
    await tx.query("UPDATE account SET balance = $1 WHERE id = 'counter'", [String(Number(rows[0]?.balance) + 1)])
    await stalls.at('before COMMIT', token)
  }
  const worker = async () => {
    for (let done = 0; done < increments; done++) {
      try {
        await fence.run('counter', (tx, ticket) => increment(tx, ticket.token))
        succeeded++
      } catch (error) {
        const { code } = error as { code: string }
        refused[code] = (refused[code] ?? 0) + 1
      }
    }
  }
  await Promise.all(Array.from({ length: workers }, worker))
  return { succeeded, refused }
}

/** The same host whose claim claims nothing: what is left of a section without its fence. */
class UnfencedHost extends PgHost {
  override readonly dialect: Dialect & typeof postgres = {
    ...postgres,
    claim: () => ({ text: "SELECT pg_current_xact_id()::text AS identity, 'false' AS resend", values: [] }),
  }
}

/** One stall at each point, in sections that a seed chooses. */
function planStalls(random: Random, sections: number): ReadonlyMap<number, Point> {
  const plan = new Map<number, Point>()
  for (const point of points) {
    let section: number
    do section = 1 + random.below(sections)
    while (plan.has(section))
    plan.set(section, point)
  }
  return plan
}

describe('twenty workers on one row', () => {
  it.each(databaseTargets().map((target, index) => [target.name, target, index === 0 ? 500 : 100] as const))(
    'F1: on %s, with stalled holders, the row ends at the number of sections that reported success',
    { timeout: 120_000 },
    async (_, target, increments) => {
      const seed = seedOfThisRun()
      await using bed = await TestBed.create(target)
      await bed.admin.query("INSERT INTO account VALUES ('counter', 0)")
      await bed.setDefault('synchronous_commit', 'off')
      await using server = await startServer({ listen: '127.0.0.1:0' })
      const broker = TicketBroker.connect(server.address)
      try {
        const overtaken = (token: bigint) =>
          until('a later holder to commit', async () => BigInt((await bed.fenceRow('counter'))?.token ?? 0) > token)
        const plan = planStalls(seededRandom(seed), (workers * increments) / 2)
        // Inside its transaction a stalled section keeps its successor's claim waiting, so there time must pass alone.
        const stalls = new Stalls(plan, (point, token) =>
          point === 'before the claim' ? overtaken(token) : delay(stallMilliseconds),
        )
        const fence: Section = pgFence(bed.pool({ max: workers }), {
          broker: stallingBroker(broker, stalls),
          defaults: { wait: 60, lease: leaseSeconds, minWork: 0 },
        })
        const run = await count(fence, increments, stalls)
        const context = `seed ${seed}: ${JSON.stringify(run)}`
        expect(await bed.balance('counter'), context).toBe(String(run.succeeded))
        expect([...stalls.done].sort(), context).toEqual([...points].sort())
        // The one that stalled before its claim was overtaken and refused; nearly everybody else got through.
        expect(run.refused['FENCE_STALE_TOKEN'], context).toBeGreaterThanOrEqual(1)
        expect(run.succeeded, context).toBeGreaterThan(workers * increments - 20)
      } finally {
        await broker.close()
      }
    },
  )

  it('F1: the same count without the claim loses updates, so the count can fail', async () => {
    const [target] = databaseTargets()
    if (target === undefined) throw new Error('There is no database to count on.')
    await using bed = await TestBed.create(target)
    await bed.admin.query("INSERT INTO account VALUES ('counter', 0)")
    await using server = await startServer({ listen: '127.0.0.1:0' })
    const broker = TicketBroker.connect(server.address)
    try {
      const overtaken = async () => {
        const read = await bed.balance('counter')
        await until('a later holder to commit', async () => (await bed.balance('counter')) !== read)
      }
      const stalls = new Stalls(new Map([[5, 'between read and write']]), overtaken)
      const host = new UnfencedHost(bed.pool({ max: workers }), { prepare: true })
      const fence: Section = createFence(host, {
        broker: stallingBroker(broker, stalls),
        defaults: { wait: 60, lease: leaseSeconds, minWork: 0 },
      })
      const { succeeded } = await count(fence, 20, stalls)
      expect(stalls.done).toEqual(['between read and write'])
      expect(succeeded).toBe(workers * 20)
      expect(Number(await bed.balance('counter'))).toBeLessThan(succeeded)
    } finally {
      await broker.close()
    }
  })
})
