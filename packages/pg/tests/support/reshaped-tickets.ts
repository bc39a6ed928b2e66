import type { Broker, Ticket } from '@ticketing/client'

/** A lock service whose tickets a test has changed: to lie about their time, or to stall. */
export function reshapedTickets(
  broker: Broker,
  change: (ticket: Ticket) => Partial<Ticket> | Promise<Partial<Ticket>>,
): Broker {
  return {
    acquire: async (key, options) => {
      const ticket = await broker.acquire(key, options)
      const unchanged: Ticket = {
        key: ticket.key,
        token: ticket.token,
        signal: ticket.signal,
        remaining: () => ticket.remaining(),
        release: () => ticket.release(),
        [Symbol.asyncDispose]: () => ticket[Symbol.asyncDispose](),
      }
      return { ...unchanged, ...(await change(ticket)) }
    },
  }
}

/** Never aborts: a process that is stopped does not see the end of its lease either. */
export const noSignal = new AbortController().signal
