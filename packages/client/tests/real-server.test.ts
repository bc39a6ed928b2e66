import { type AcquireResult, TicketBroker, type TicketError } from '@ticketing/client'
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

  test('C4, C5: tryAcquire tells timeout and busy as values', async () => {
    const broker = connect((await serve({ waitersMax: 1, waitersPerKeyMax: 1 })).address)
    const granted = await broker.tryAcquire('k', short)
    expect(granted.status).toBe('granted')
    const queued = broker.tryAcquire('k', { ...short, wait: '1s' })
    const busy = await broker.tryAcquire('k', short)
    expect([busy.status, errorOf(busy).code, errorOf(busy).outcome]).toEqual(['busy', 'TICKET_BUSY', 'not-executed'])
    const immediate = await broker.tryAcquire('k', { ...short, wait: 0 })
    expect([immediate.status, errorOf(immediate).code]).toEqual(['timeout', 'TICKET_TIMEOUT'])
    const late = await queued
    expect([late.status, errorOf(late).code, errorOf(late).outcome]).toEqual([
      'timeout',
      'TICKET_TIMEOUT',
      'not-executed',
    ])
  })

  test('C3, C15: tryAcquire tells indeterminate and not-connected as values, and the broker outlives its server', async () => {
    const server = await serve()
    const broker = connect(server.address, { connectSeconds: '400ms' })
    await broker.acquire('k', short)
    const waiting = broker.tryAcquire('k', short)
    await broker.tryAcquire('k', { ...short, wait: 0 }) // answered behind the one that waits, so that was sent
    await server.close()
    const lost = await waiting
    expect([lost.status, errorOf(lost).code, errorOf(lost).outcome]).toEqual([
      'indeterminate',
      'TICKET_INDETERMINATE',
      'unknown',
    ])
    const unsent = await broker.tryAcquire('k', short)
    expect([unsent.status, errorOf(unsent).code, errorOf(unsent).outcome]).toEqual([
      'not-connected',
      'TICKET_NOT_CONNECTED',
      'not-executed',
    ])
    await serve({ listen: server.address })
    await broker.waitReady(5)
    expect((await broker.tryAcquire('k', short)).status).toBe('granted')
  })

  test('C10: tryAcquire tells cancelled as a value, and the waiter leaves the queue', async () => {
    const broker = connect((await serve({ waitersMax: 1, waitersPerKeyMax: 1 })).address)
    const holder = await broker.acquire('k', short)
    const controller = new AbortController()
    const { signal } = controller
    const waiting = broker.tryAcquire('k', { ...short, signal })
    await broker.acquire('probe', { ...short, signal }) // on the same session, so the one before it is queued
    expect((await broker.tryAcquire('k', short)).status).toBe('busy')
    controller.abort()
    const cancelled = await waiting
    expect([cancelled.status, errorOf(cancelled).code, errorOf(cancelled).outcome]).toEqual([
      'cancelled',
      'TICKET_CANCELLED',
      'unknown',
    ])
    const next = async (): Promise<AcquireResult> => {
      const result = await broker.tryAcquire('k', short)
      return result.status === 'busy' ? next() : result
    }
    const queued = next()
    await holder.release()
    expect((await queued).status).toBe('granted')
  })

  test('C9: tryAcquire tells lease-too-short as a value, and the key is free again', async () => {
    const broker = connect((await serve()).address)
    const tooShort = await broker.tryAcquire('k', { wait: 1, lease: 2, minWork: 2 })
    expect([tooShort.status, errorOf(tooShort).code, errorOf(tooShort).outcome]).toEqual([
      'lease-too-short',
      'TICKET_LEASE_TOO_SHORT',
      'not-executed',
    ])
    const next = await broker.acquire('k', { wait: 1, lease: 2, minWork: 0 })
    expect(await next.release()).toBe('released')
  })

  test('C9: a lease of 1 s won after a wait of 3 s has more than 0.5 s left', async () => {
    const broker = connect((await serve()).address)
    await broker.acquire('k', { wait: 0, lease: 3, minWork: 0 }) // never released: its lease ends
    const ticket = await broker.acquire('k', { wait: 10, lease: 1, minWork: 0 })
    expect(ticket.remaining()).toBeGreaterThan(0.5)
    const { signal } = ticket
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    expect(ticket.remaining()).toBe(0)
  })

  test('C10: 200 acquires at once, each with a signal of its own, every fifth aborted: one outcome each', async () => {
    const broker = connect((await serve()).address)
    let holders = 0
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const controller = new AbortController()
        const acquire = broker.tryAcquire(`k${i % 10}`, { wait: 60, lease: 30, minWork: 1, signal: controller.signal })
        if (i % 5 === 0) setImmediate(() => controller.abort())
        const result = await acquire
        if (result.status !== 'granted') return result.status
        holders++
        expect(await result.ticket.release()).toBe('released')
        return 'granted'
      }),
    )
    const count = (status: string) => outcomes.filter((outcome) => outcome === status).length
    expect(count('granted')).toBe(holders)
    expect(count('granted')).toBeGreaterThanOrEqual(160)
    expect(count('granted') + count('cancelled')).toBe(200)
    // Nothing is left behind: every key can be had at once, or within the lease of a grant that was cancelled unread.
    for (let i = 0; i < 10; i++) {
      await (await broker.acquire(`k${i}`, { wait: 40, lease: 1, minWork: 0 })).release()
    }
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
