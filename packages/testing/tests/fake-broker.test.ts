import type { AcquireOptions, Ticket, TicketError } from '@ticketing/client'
import { type FakeBroker, fakeBroker } from '@ticketing/testing'
import { beforeEach, describe, expect, it } from 'vitest'

const options: AcquireOptions = { wait: 10, lease: 30, minWork: 2 }
const immediately: AcquireOptions = { ...options, wait: 0 }

let broker: FakeBroker

beforeEach(() => {
  broker = fakeBroker({ firstToken: 1n })
})

const failure = (promise: Promise<unknown>): Promise<TicketError> =>
  promise.then(
    () => expect.fail('it did not fail'),
    (error: TicketError) => error,
  )

/** What has become of a promise by now, without waiting for it. */
const stateOf = (promise: Promise<unknown>): Promise<unknown> =>
  Promise.race([promise.then(() => 'fulfilled').catch(() => 'rejected'), Promise.resolve().then(() => later('open'))])

async function later<T>(value: T): Promise<T> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  return value
}

const happened = () => broker.log.map(({ event, key, token, code }) => `${event} ${key} ${token ?? code ?? ''}`.trim())

describe('locking', () => {
  it('S1: a free key is granted at once, a held one only with its release, in the order of the queue', async () => {
    const first = await broker.acquire('k', options)
    const order: string[] = []
    const waiting = ['second', 'third'].map(async (name) => {
      const ticket = await broker.acquire('k', options)
      order.push(name)
      return ticket
    })
    expect(broker.holder('k')).toEqual({ token: 1n, remaining: 30 })
    expect(broker.waiters('k')).toBe(2)
    expect(await stateOf(Promise.race(waiting))).toBe('open')
    expect(await first.release()).toBe('released')
    const second = (await waiting[0]) as Ticket
    expect(await stateOf(waiting[1] as Promise<unknown>)).toBe('open')
    await second.release()
    const third = (await waiting[1]) as Ticket
    expect(order).toEqual(['second', 'third'])
    expect([first.token, second.token, third.token]).toEqual([1n, 2n, 3n])
    await third.release()
    expect(broker.holder('k')).toBeUndefined()
  })

  it('S1: keys do not exclude each other, and tokens grow over all of them', async () => {
    const tickets = [await broker.acquire('a', options), await broker.acquire('b', options)]
    expect(tickets.map(({ key, token }) => [key, token])).toEqual([
      ['a', 1n],
      ['b', 2n],
    ])
  })

  it('S1: with wait 0 a held key is refused at once and not queued', async () => {
    await broker.acquire('k', options)
    const error = await failure(broker.acquire('k', immediately))
    expect(error).toMatchObject({ code: 'TICKET_TIMEOUT', outcome: 'not-executed' })
    expect(broker.waiters('k')).toBe(0)
  })

  it('S1: a wait that ends is refused at its moment, and no grant follows', async () => {
    await broker.acquire('k', options)
    const waiting = failure(broker.acquire('k', options))
    broker.clock.advance('9.999s')
    expect(broker.waiters('k')).toBe(1)
    broker.clock.advance('1ms')
    expect(await waiting).toMatchObject({ code: 'TICKET_TIMEOUT', message: expect.stringContaining('10 s') })
    broker.clock.advance(60)
    expect(happened()).toEqual(['granted k 1', 'queued k', 'refused k TICKET_TIMEOUT', 'expired k 1'])
  })

  it('S12: a wait that ends with the lease of the holder gets no grant; the next in the queue does', async () => {
    await broker.acquire('k', { ...options, lease: 10 })
    const overdue = failure(broker.acquire('k', { ...options, wait: 10 }))
    const next = broker.acquire('k', { ...options, wait: 11 })
    broker.clock.advance(10)
    expect((await overdue).code).toBe('TICKET_TIMEOUT')
    expect((await next).token).toBe(2n)
  })

  it('S3: an acquire at the very moment at which the lease ends goes past the queue', async () => {
    const holder = await broker.acquire('k', { ...options, lease: 5 })
    const queued = broker.acquire('k', options)
    let passing: Promise<Ticket> | undefined
    holder.signal.addEventListener('abort', () => {
      passing = broker.acquire('k', immediately)
    })
    broker.clock.advance(5)
    expect((await passing)?.token).toBe(2n)
    expect(await stateOf(queued)).toBe('open')
  })

  it('S4: a second acquire of a holder queues as any other', async () => {
    await broker.acquire('k', options)
    expect(await stateOf(broker.acquire('k', options))).toBe('open')
  })

  it('S10: without firstToken, a later fake grants higher tokens than an earlier one', async () => {
    const tokens: bigint[] = []
    for (let fake = 0; fake < 3; fake++) tokens.push((await fakeBroker().acquire('k', options)).token)
    expect(tokens[0] as bigint).toBeGreaterThan(1n)
    expect(tokens[1] as bigint).toBeGreaterThan(tokens[0] as bigint)
    expect(tokens[2] as bigint).toBeGreaterThan(tokens[1] as bigint)
  })
})

describe('leases', () => {
  it('C9: time stands still until it is advanced, then remaining counts down to 0 and the signal aborts', async () => {
    const ticket = await broker.acquire('k', options)
    expect(ticket.remaining()).toBe(30)
    broker.clock.advance('12.5s')
    expect(ticket.remaining()).toBe(17.5)
    expect(ticket.signal.aborted).toBe(false)
  })

  it('C9: at the end of the lease the signal aborts before anybody else has the key', async () => {
    const ticket = await broker.acquire('k', options)
    const next = broker.acquire('k', { ...options, wait: 60 })
    const seen: unknown[] = []
    ticket.signal.addEventListener('abort', () => seen.push([broker.clock.now, broker.holder('k')?.token]))
    broker.clock.advance('40s')
    expect(seen).toEqual([[30, 1n]])
    expect(ticket.signal.reason).toMatchObject({ code: 'TICKET_LEASE_OVER', outcome: 'unknown' })
    expect(ticket.remaining()).toBe(0)
    expect((await next).remaining()).toBe(20)
    expect(broker.clock.now).toBe(40)
  })

  it('C9: an answer that arrives with no more than the minimum work left is no ticket, and the key is given back', async () => {
    broker.stall()
    const late = failure(broker.acquire('k', { wait: 25, lease: 10, minWork: 4 }))
    broker.clock.advance(6)
    broker.resume()
    expect(await late).toMatchObject({ code: 'TICKET_LEASE_TOO_SHORT', outcome: 'not-executed' })
    expect(broker.holder('k')).toBeUndefined()
  })

  it('C9: a minimum work equal to the lease is never met', async () => {
    const error = await failure(broker.acquire('k', { ...options, minWork: 30 }))
    expect(error.code).toBe('TICKET_LEASE_TOO_SHORT')
  })
})

describe('releases', () => {
  it('S2, C11: after the lease, and after another took over, a release changes nothing', async () => {
    const expired = await broker.acquire('k', options)
    broker.clock.advance(31)
    const holder = await broker.acquire('k', options)
    expect(await expired.release()).toBe('not-current')
    expect(broker.holder('k')?.token).toBe(holder.token)
    expect(await holder.release()).toBe('released')
  })

  it('C2: calls after the first share its result, and nothing more is sent', async () => {
    const ticket = await broker.acquire('k', options)
    const first = ticket.release()
    expect(ticket.release()).toBe(first)
    await first
    await broker.acquire('k', options)
    expect(await ticket.release()).toBe('released')
    expect(happened()).toEqual(['granted k 1', 'released k 1', 'granted k 2'])
  })

  it('after a release nothing remains, and the signal never aborts', async () => {
    const ticket = await broker.acquire('k', options)
    await ticket.release()
    expect(ticket.remaining()).toBe(0)
    broker.clock.advance(60)
    expect(ticket.signal.aborted).toBe(false)
  })

  it('C12: await using releases and never rejects', async () => {
    broker.loseNextAnswer('release')
    await (await broker.acquire('k', options))[Symbol.asyncDispose]()
    await (await broker.acquire('k', immediately))[Symbol.asyncDispose]()
    expect(broker.holder('k')).toBeUndefined()
  })
})

describe('arguments and cancels', () => {
  it.each([
    ['', options, /^The key/],
    ['a b', options, /^The key/],
    ['k', { ...options, wait: 256 }, /^wait must be 0 to 255 seconds/],
    ['k', { ...options, lease: 0.5 }, /^lease must be 1 to 250 seconds/],
    ['k', { ...options, minWork: 31 }, /^minWork must be 0 seconds up to the lease/],
    ['k', { ...options, waits: 3 }, /has no option "waits"/],
    ['k', undefined, /^acquire takes an object/],
  ])('C13: acquire(%j, %j) is refused by the client’s own check', async (key, given, message) => {
    const error = await failure(broker.acquire(key, given as AcquireOptions))
    expect(error).toMatchObject({ code: 'TICKET_INVALID_ARGUMENT', message: expect.stringMatching(message) })
    expect(broker.log).toEqual([])
  })

  it('C13: fractions of a second are rounded up', async () => {
    expect((await broker.acquire('k', { wait: 0, lease: '1500ms', minWork: 0 })).remaining()).toBe(2)
  })

  it('C10: cancelled before the call it was never sent; while it queues it leaves the queue', async () => {
    const reason = new Error('no longer wanted')
    const never = await failure(broker.acquire('k', { ...options, signal: AbortSignal.abort(reason) }))
    expect(never).toMatchObject({ code: 'TICKET_CANCELLED', outcome: 'not-executed', cause: reason })
    await broker.acquire('k', options)
    const controller = new AbortController()
    const queued = failure(broker.acquire('k', { ...options, signal: controller.signal }))
    controller.abort(reason)
    expect(await queued).toMatchObject({ code: 'TICKET_CANCELLED', outcome: 'unknown', cause: reason })
    expect(broker.waiters('k')).toBe(0)
  })

  it('C10: a grant whose caller cancelled meanwhile is given back when it arrives', async () => {
    broker.stall('k')
    const controller = new AbortController()
    const cancelled = failure(broker.acquire('k', { ...options, signal: controller.signal }))
    controller.abort()
    await cancelled
    expect(broker.holder('k')?.token).toBe(1n)
    broker.resume('k')
    expect(broker.holder('k')).toBeUndefined()
  })
})

describe('faults', () => {
  it('a stall holds the answers of its key back, in order, until it is resumed', async () => {
    broker.stall('a')
    const stalled = broker.acquire('a', options)
    await broker.acquire('b', options)
    expect(await stateOf(stalled)).toBe('open')
    expect(broker.holder('a')?.token).toBe(1n)
    broker.clock.advance(3)
    broker.resume('a')
    expect((await stalled).remaining()).toBe(27)
  })

  it('C16: an answer held back for longer than the wait and 5 s is lost, and the key stays held', async () => {
    broker.stall()
    const lost = failure(broker.acquire('k', options))
    broker.clock.advance('14.999s')
    expect(await stateOf(lost)).toBe('open')
    broker.clock.advance('1ms')
    expect(await lost).toMatchObject({ code: 'TICKET_INDETERMINATE', outcome: 'unknown' })
    broker.resume()
    expect(broker.holder('k')).toEqual({ token: 1n, remaining: 15 })
    broker.clock.advance(15)
    expect(broker.holder('k')).toBeUndefined()
  })

  it('C11: a release held back for 5 s is unconfirmed; called again it asks anew', async () => {
    const ticket = await broker.acquire('k', options)
    broker.stall()
    const release = failure(ticket.release())
    broker.clock.advance(5)
    expect(await release).toMatchObject({ code: 'TICKET_RELEASE_UNCONFIRMED', outcome: 'unknown' })
    broker.resume()
    expect(await ticket.release()).toBe('not-current')
  })

  it('C5: refusals come at once, one for each acquire, with their codes', async () => {
    const codes = ['TICKET_BUSY', 'TICKET_NOT_CONNECTED', 'TICKET_AUTH_FAILED', 'TICKET_TIMEOUT'] as const
    for (const code of codes) broker.refuseNext(code)
    for (const code of codes) {
      expect(await failure(broker.acquire('k', options))).toMatchObject({ code, outcome: 'not-executed' })
    }
    expect((await broker.acquire('k', options)).token).toBe(1n)
    expect(() => broker.refuseNext('TICKET_CLOSED' as 'TICKET_BUSY')).toThrow(/refuseNext takes TICKET_BUSY/)
  })

  it('C3: a lost answer to an acquire leaves the key held; a lost request does not', async () => {
    broker.loseNextAnswer()
    expect(await failure(broker.acquire('k', options))).toMatchObject({
      code: 'TICKET_INDETERMINATE',
      outcome: 'unknown',
    })
    expect(broker.holder('k')?.token).toBe(1n)
    broker.clock.advance(30)
    broker.loseNextRequest()
    expect((await failure(broker.acquire('k', options))).code).toBe('TICKET_INDETERMINATE')
    expect(broker.holder('k')).toBeUndefined()
  })

  it('C11: a lost release is unconfirmed, whether or not it took effect', async () => {
    const ticket = await broker.acquire('k', options)
    broker.loseNextRequest('release')
    expect(await failure(ticket.release())).toMatchObject({ code: 'TICKET_RELEASE_UNCONFIRMED', outcome: 'unknown' })
    expect(broker.holder('k')?.token).toBe(1n)
    broker.loseNextAnswer('release')
    expect((await failure(ticket.release())).code).toBe('TICKET_RELEASE_UNCONFIRMED')
    expect(broker.holder('k')).toBeUndefined()
  })

  it('fault 1: the ticket of a suspended holder does not see its lease end, which ends all the same', async () => {
    const ticket = await broker.acquire('k', options)
    const wake = broker.suspendHolder('k')
    broker.clock.advance(31)
    expect([ticket.remaining(), ticket.signal.aborted]).toEqual([30, false])
    expect((await broker.acquire('k', options)).token).toBe(2n)
    wake()
    expect([ticket.remaining(), ticket.signal.aborted]).toEqual([0, true])
    expect(() => broker.suspendHolder('other')).toThrow(/nobody holds/)
  })
})

describe('the clock', () => {
  it('refuses what is no time span, and an advance from inside an advance', async () => {
    expect(() => broker.clock.advance(-1)).toThrow(/advance must be 0 to 86400 seconds/)
    const ticket = await broker.acquire('k', options)
    let thrown: unknown
    ticket.signal.addEventListener('abort', () => {
      try {
        broker.clock.advance(1)
      } catch (error) {
        thrown = error
      }
    })
    broker.clock.advance(30)
    expect(thrown).toMatchObject({ message: expect.stringContaining('clock.advance was called') })
    expect(broker.clock.now).toBe(30)
  })

  it('lets what is due on the way happen in the order of its moments', async () => {
    const moments: [string, number][] = []
    for (const [key, lease] of [
      ['long', 20],
      ['short', 10],
      ['middle', 15],
    ] as const) {
      const { signal } = await broker.acquire(key, { ...options, lease })
      signal.addEventListener('abort', () => moments.push([key, broker.clock.now]))
    }
    broker.clock.advance(30)
    expect(moments).toEqual([
      ['short', 10],
      ['middle', 15],
      ['long', 20],
    ])
  })

  it('adds up exactly', () => {
    for (let step = 0; step < 1000; step++) broker.clock.advance('1ms')
    expect(broker.clock.now).toBe(1)
  })
})

describe('closing', () => {
  it('C10: what is pending ends as closed, and so does every later call; a grant that still arrives is given back', async () => {
    const held = await broker.acquire('k', options)
    const waiting = failure(broker.acquire('k', options))
    broker.stall('other')
    const onItsWay = failure(broker.acquire('other', options))
    await broker.close()
    await broker.close()
    expect(await waiting).toMatchObject({ code: 'TICKET_CLOSED', outcome: 'unknown' })
    expect(await onItsWay).toMatchObject({ code: 'TICKET_CLOSED', outcome: 'unknown' })
    expect(await failure(broker.acquire('k', options))).toMatchObject({
      code: 'TICKET_CLOSED',
      outcome: 'not-executed',
    })
    expect(await failure(held.release())).toMatchObject({ code: 'TICKET_CLOSED' })
    broker.resume()
    expect(broker.waiters('k')).toBe(0)
    expect(broker.holder('other')).toBeUndefined()
  })

  it('C11: a release that was called before is shared after the close', async () => {
    const ticket = await broker.acquire('k', options)
    expect(await ticket.release()).toBe('released')
    await broker.close()
    expect(await ticket.release()).toBe('released')
  })
})
