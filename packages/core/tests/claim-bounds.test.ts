import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rejection } from './support/gate.js'
import { runs } from './support/random-runs.js'
import { hostKinds } from './support/recording-host.js'
import { sectionWorld } from './support/section-world.js'

const [kind] = hostKinds
if (kind === undefined) throw new Error('There are host kinds.')

/** The bounds that the claim of `keys` keys carries when `remaining` milliseconds of the lease are left. */
async function boundsOf(remaining: number, keys: number) {
  const { fence, host, database, time } = sectionWorld(kind as (typeof hostKinds)[number], {
    defaults: { wait: 0, lease: 250, minWork: 0 },
  })
  database.at('connect', () => time.stall(250_000 - remaining))
  await fence.run(
    Array.from({ length: keys }, (_, index) => `k${index}`),
    () => undefined,
  )
  return host.claims[0]?.bounds
}

describe('F4', () => {
  test.each([
    [250_000, 1, 249_500],
    [10_000, 1, 9_500],
    [5_000, 1, 4_500],
    [2_000, 1, 1_800],
    [10, 1, 9],
    [2, 1, 1],
    [1, 1, 1],
    [10_000, 4, 2_375],
    [2_000, 3, 600],
    [20, 64, 1],
  ])('F4: with %d ms left, the claim of %d keys may wait %d ms for each row', async (remaining, keys, claim) => {
    expect(await boundsOf(remaining, keys)).toEqual({ transactionMilliseconds: remaining, claimMilliseconds: claim })
  })

  test('F4: all waits of a claim together end a tenth of the lease, at most 500 ms, before the transaction', async () => {
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 250_000 }),
      fc.integer({ min: 1, max: 64 }),
      async (left, keys) => {
        const bounds = await boundsOf(left, keys)
        if (bounds === undefined) throw new Error('No claim was made.')
        const { transactionMilliseconds, claimMilliseconds } = bounds
        // Seconds are fractions, so a millisecond may be lost, to the safe side.
        expect([left - 1, left]).toContain(transactionMilliseconds)
        const margin = Math.min(500, transactionMilliseconds / 10)
        expect(claimMilliseconds).toBe(Math.max(1, Math.floor((transactionMilliseconds - margin) / keys)))
      },
    )
    await fc.assert(property, runs(200))
  })

  test('F4: fractions of a millisecond are rounded down; below one millisecond the section is refused', async () => {
    expect(await boundsOf(1_000.9, 1)).toMatchObject({ transactionMilliseconds: 1_000 })
    expect(await rejection(boundsOf(0.9, 1))).toMatchObject({ code: 'FENCE_LEASE_EXPIRED', outcome: 'not-executed' })
  })

  test('F4: the host reads what remains of the lease at any time, for bounds that it sends again', async () => {
    const { fence, host, time } = sectionWorld(kind)
    const remaining: (number | undefined)[] = []
    await fence.run('a', () => {
      remaining.push(host.transactions[0]?.remainingMilliseconds?.())
      time.stall(4_000)
      remaining.push(host.transactions[0]?.remainingMilliseconds?.())
    })
    expect(remaining).toEqual([10_000, 6_000])
  })
})
