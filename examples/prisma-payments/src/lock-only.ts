import type { AcquireOptions, Broker, Ticket } from '@ticketing/client'
import type { FencedPrisma } from './database.js'

type Work = (tx: unknown) => Promise<unknown>

/**
 * The same client with sections as they are often written: take the locks, run a transaction, give the locks back. It
 * looks right, and it is right until a holder stalls for longer than its lease. Do not copy it.
 */
export function lockOnly(prisma: FencedPrisma, broker: Broker, times: AcquireOptions): FencedPrisma {
  const $fenced = async (keys: readonly string[], work: Work) => {
    const tickets: Ticket[] = []
    try {
      for (const key of keys.toSorted()) tickets.push(await broker.acquire(key, times))
      return await prisma.$transaction(work, { timeout: 60_000 })
    } finally {
      for (const ticket of tickets) await ticket[Symbol.asyncDispose]()
    }
  }
  return prisma.$extends({ client: { $fenced } }) as unknown as FencedPrisma
}
