import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import type { Order } from './transfer.js'

/** Cents. */
const amountMax = 5_000

/** Whole numbers from `min` to `max`, both included. The same seed and stream give the same numbers. */
export type Random = (min: number, max: number) => number

/** One stream of random numbers of a run; each worker has its own. */
export function randomStream(seed: number, stream: number): Random {
  // Neighbouring seeds would give related streams: each start is drawn from a generator of its own.
  const starts = xoroshiro128plus(seed)
  for (let skipped = 0; skipped < stream; skipped++) uniformInt(starts, 0, 0x7fff_ffff)
  const generator = xoroshiro128plus(uniformInt(starts, 0, 0x7fff_ffff))
  return (min, max) => uniformInt(generator, min, max)
}

/** A transfer between two different accounts of 1 … `accounts`. */
export function randomOrder(random: Random, accounts: number): Order {
  const from = random(1, accounts)
  const other = random(1, accounts - 1)
  return { from, to: other < from ? other : other + 1, amount: random(1, amountMax) }
}

/** Transfers that have no account in common. */
export function separateOrders(random: Random, accounts: number, count: number): readonly Order[] {
  const orders: Order[] = []
  while (orders.length < count) {
    const order = randomOrder(random, accounts)
    const shared = orders.some(({ from, to }) => [from, to].some((id) => id === order.from || id === order.to))
    if (!shared) orders.push(order)
  }
  return orders
}
