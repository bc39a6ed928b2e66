import { type AcquireResult, TicketBroker, TicketError } from '@ticketing/client'
import { type ServerOptions, startServer, type TicketingServer } from '@ticketing/server'
import { describe, expect, onTestFinished, test } from 'vitest'

const short = { wait: 5, lease: 10, minWork: 1 } as const

async function serve(options: ServerOptions = {}): Promise<TicketingServer> {
  const server = await startServer({ listen: '127.0.0.1:0', ...options })
  onTestFinished(() => server.close())
  return server
}

function connect(address: string, options?: Parameters<typeof TicketBroker.connect>[1]): TicketBroker {
  const broker = TicketBroker.connect(address, options)
  onTestFinished(() => broker.close())
  return broker
}

function errorOf(result: AcquireResult): TicketError {
  if (result.status === 'granted') throw new Error('It was granted.')
  return result.error
}

describe('against the real server', () => {
  test('C4, C11: acquire, release, and a release of what is gone', async () => {
    const broker = connect((await serve()).address)
    const ticket = await broker.acquire('orders/42', short)
    expect(ticket.key).toBe('orders/42')
    expect(ticket.token).toBeGreaterThan(0n)
    expect(ticket.remaining()).toBeGreaterThan(9)
    expect(ticket.remaining()).toBeLessThanOrEqual(10)
    expect(ticket.signal.aborted).toBe(false)
    expect(await ticket.release()).toBe('released')
    expect(ticket.remaining()).toBe(0)
    const next = await broker.acquire('orders/42', short)
    expect(next.token).toBeGreaterThan(ticket.token)
    await next[Symbol.asyncDispose]()
    expect(await next.release()).toBe('released')
  })

  test('C1: waiters of one key get it in the order in which they queued, and each its own reply', async () => {
    const broker = connect((await serve()).address)
    const first = await broker.acquire('k', short)
    const order: number[] = []
    const tokens: bigint[] = [first.token]
    const waiters = Array.from({ length: 20 }, async (_, i) => {
      const ticket = await broker.acquire('k', { ...short, wait: 20 })
      order.push(i)
      tokens.push(ticket.token)
      expect(await ticket.release()).toBe('released')
    })
    await first.release()
    await Promise.all(waiters)
    expect(order).toEqual(Array.from({ length: 20 }, (_, i) => i))
    expect(tokens).toEqual([...tokens].sort((a, b) => (a < b ? -1 : 1)))
  })

  test('C14: the token must be one of the server’s', async () => {
    const { address } = await serve({ clientTokens: ['old secret', 'new secret'] })
    await connect(address, { token: 'new secret' }).waitReady(5)
    const stranger = connect(address, { token: 'wrong secret', connectSeconds: '300ms' })
    const failure = await stranger.waitReady().catch((error: unknown) => error as TicketError)
    expect(failure).toMatchObject({ code: 'TICKET_AUTH_FAILED', outcome: 'not-executed' })
    expect((failure as TicketError).message).not.toContain('secret')
    const result = await stranger.tryAcquire('k', short)
    expect(result.status).toBe('not-connected')
    expect(errorOf(result)).toMatchObject({ code: 'TICKET_AUTH_FAILED', outcome: 'not-executed' })
  })
})
