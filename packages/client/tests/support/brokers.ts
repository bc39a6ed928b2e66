import type { BrokerOptions, TicketBroker } from '@ticketing/client'
import { connectIn, type Environment, nodeEnvironment } from '@ticketing/client/internal'
import { onTestFinished } from 'vitest'
import { ManualClock } from './manual-clock.js'

/** A broker on a clock of the test's, with real sockets and without jitter. It closes when the test is finished. */
export function brokerOn(
  address: string | string[],
  options: BrokerOptions = {},
): { broker: TicketBroker; clock: ManualClock } {
  const clock = new ManualClock()
  const broker = connectIn({ ...nodeEnvironment, clock, random: () => 1 } satisfies Environment, address, options)
  onTestFinished(async () => {
    const closed = broker.close()
    clock.advance(10_000)
    await closed
  })
  return { broker, clock }
}

/** How a promise ended, or `pending`; looked at without waiting for it. */
export async function stateOf(promise: Promise<unknown>): Promise<'pending' | 'resolved' | 'rejected'> {
  const pending = Symbol('pending')
  try {
    return (await Promise.race([promise, Promise.resolve(pending)])) === pending ? 'pending' : 'resolved'
  } catch {
    return 'rejected'
  }
}
