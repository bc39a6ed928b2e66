import { describe, expect, it } from 'vitest'
import { TableDriver } from './table-driver.js'

describe('fairness and expiry', () => {
  it('S3: the release path is first come, first served', () => {
    const driver = new TableDriver()
    driver.acquire('s', 'o0', 'k', 0)
    for (const owner of ['o1', 'o2', 'o3']) driver.acquire('s', owner, 'k', 60)
    expect(driver.release('s', 'k', 1n)).toEqual(['s: R 1 k', 's: A 2 o1 k'])
    driver.acquire('s', 'o4', 'k', 60)
    expect(driver.release('s', 'k', 2n)).toEqual(['s: R 2 k', 's: A 3 o2 k'])
    expect(driver.release('s', 'k', 3n)).toEqual(['s: R 3 k', 's: A 4 o3 k'])
    expect(driver.release('s', 'k', 4n)).toEqual(['s: R 4 k', 's: A 5 o4 k'])
  })

  it('S3: an acquire that finds the holder expired takes over past waiters, who keep their order', () => {
    const driver = new TableDriver()
    driver.acquire('s', 'o0', 'k', 0, 1)
    driver.acquire('s', 'o1', 'k', 60)
    driver.acquire('s', 'o2', 'k', 60)
    driver.pass(1)
    expect(driver.acquire('late', 'o3', 'k', 0, 1)).toEqual(['late: A 2 o3 k'])
    expect(driver.release('s', 'k', 1n)).toEqual(['s: N 1 k'])
    expect(driver.release('late', 'k', 2n)).toEqual(['late: R 2 k', 's: A 3 o1 k'])
    expect(driver.release('s', 'k', 3n)).toEqual(['s: R 3 k', 's: A 4 o2 k'])
  })

  it("S4: an owner equal to the holder's gets no special treatment and renews nothing", () => {
    const driver = new TableDriver()
    driver.acquire('s', 'same', 'k', 0, 10)
    driver.pass(6)
    expect(driver.acquire('s', 'same', 'k', 0, 10)).toEqual(['s: T same k'])
    expect(driver.acquire('s', 'same', 'k', 60, 10)).toEqual([])
    driver.pass(4)
    expect(driver.expire()).toEqual(['s: A 2 same k'])
  })

  it('S5: replies come when they are due, not in the order of the requests', () => {
    const driver = new TableDriver()
    driver.acquire('holder', 'h', 'k', 0, 100)
    const order = [
      ...driver.acquire('s', 'first', 'k', 60),
      ...driver.acquire('s', 'second', 'k', 1),
      ...driver.acquire('s', 'third', 'other', 0),
    ]
    driver.pass(1)
    order.push(...driver.endWaits(), ...driver.release('s', 'k', 1n))
    expect(order).toEqual(['s: A 2 third other', 's: T second k', 's: R 1 k', 's: A 3 first k'])
  })

  it('S7: an expired key that is not swept yet is released with R, a swept one with N', () => {
    const driver = new TableDriver()
    driver.acquire('s', 'o1', 'k1', 0, 1)
    driver.acquire('s', 'o2', 'k2', 0, 1)
    driver.pass(1)
    expect(driver.expire()).toEqual([])
    expect(driver.table.nextExpiry).toBe(Number.POSITIVE_INFINITY)
    expect(driver.release('s', 'k1', 1n)).toEqual(['s: R 1 k1'])
    expect(driver.sweep()).toEqual(['k2'])
    expect(driver.release('s', 'k2', 2n)).toEqual(['s: N 2 k2'])
    expect(driver.table.keyCount).toBe(0)
  })

  it('S7: the sweep clears expired keys without waiters only, and no more in a turn than it is told', () => {
    const driver = new TableDriver()
    driver.acquire('s', 'o', 'held', 0, 100)
    driver.acquire('s', 'o', 'waited', 0, 1)
    driver.acquire('s', 'w', 'waited', 60)
    for (const key of ['e1', 'e2', 'e3']) driver.acquire('s', 'o', key, 0, 1)
    driver.pass(1)
    expect(driver.sweep(2)).toHaveLength(2)
    expect(driver.sweep(2)).toHaveLength(1)
    expect(driver.sweep(2)).toEqual([])
    expect(driver.table.keyCount).toBe(2)
    expect(driver.release('s', 'held', 1n)).toEqual(['s: R 1 held'])
    expect(driver.expire()).toEqual(['s: A 6 w waited'])
  })

  it('S7: a holder whose lease ends while others wait is followed by the head, without the sweep', () => {
    const driver = new TableDriver()
    driver.acquire('a', 'o1', 'k', 0, 3)
    driver.acquire('b', 'o2', 'k', 60, 7)
    driver.acquire('c', 'o3', 'k', 60, 7)
    expect(driver.table.nextExpiry).toBe(3000)
    driver.pass(2.999)
    expect(driver.expire()).toEqual([])
    driver.pass(0.001)
    expect(driver.expire()).toEqual(['b: A 2 o2 k'])
    expect(driver.table.nextExpiry).toBe(10_000)
    driver.pass(7)
    expect(driver.expire()).toEqual(['c: A 3 o3 k'])
    // Nobody waits any more: its end matters only to the sweep.
    expect(driver.table.nextExpiry).toBe(Number.POSITIVE_INFINITY)
  })

  it('S7: an expiry pass ends no more leases in a turn than it is told', () => {
    const driver = new TableDriver()
    for (const key of ['k1', 'k2', 'k3']) {
      driver.acquire('s', 'o', key, 0, 1)
      driver.acquire('s', 'w', key, 60, 60)
    }
    driver.pass(1)
    expect(driver.expire(2)).toHaveLength(2)
    expect(driver.table.nextExpiry).toBe(1000)
    expect(driver.expire(2)).toHaveLength(1)
    expect(driver.table.nextExpiry).toBeGreaterThan(driver.now)
  })

  it('K5: without lazy expiry a key stays held until its expiry is decided, with or without waiters', () => {
    const driver = new TableDriver({ lazyExpiry: false })
    driver.acquire('a', 'o1', 'k1', 0, 1)
    driver.acquire('a', 'o2', 'k2', 0, 1)
    driver.acquire('a', 'o3', 'k3', 0, 1)
    driver.pass(1)
    expect(driver.acquire('b', 'o4', 'k1', 0)).toEqual(['b: T o4 k1'])
    expect(driver.acquire('b', 'o5', 'k1', 9)).toEqual([])
    expect(driver.release('a', 'k2', 2n)).toEqual(['a: R 2 k2'])
    expect(driver.sweep()).toEqual([])
    expect(driver.table.nextExpiry).toBe(1000)
    expect(driver.expire()).toEqual(['b: A 4 o5 k1'])
    expect(driver.table.keyCount).toBe(1)
    expect(driver.release('a', 'k3', 3n)).toEqual(['a: N 3 k3'])
  })
})

describe('sessions, grants and tokens', () => {
  it("S8: a session's end removes its waiters from every queue and releases nothing", () => {
    const driver = new TableDriver()
    driver.acquire('a', 'o1', 'k1', 0)
    driver.acquire('b', 'o2', 'k2', 0)
    driver.acquire('a', 'o3', 'k2', 60)
    driver.acquire('a', 'o4', 'k1', 60)
    driver.acquire('b', 'o5', 'k2', 60)
    driver.table.sessionEnded('a')
    expect(driver.table.waiterCount).toBe(1)
    expect(driver.acquire('b', 'o6', 'k1', 0)).toEqual(['b: T o6 k1'])
    expect(driver.release('b', 'k2', 2n)).toEqual(['b: R 2 k2', 'b: A 3 o5 k2'])
    expect(driver.release('b', 'k1', 1n), 'from another session').toEqual(['b: R 1 k1'])
  })

  it('S8: a session that ends frees its places in the queues', () => {
    const driver = new TableDriver({ limits: { waitersPerKeyMax: 1, waitersMax: 1, outstandingPerSessionMax: 1 } })
    driver.acquire('a', 'o1', 'k', 0)
    driver.acquire('b', 'o2', 'k', 60)
    driver.table.sessionEnded('b')
    driver.table.sessionEnded('b')
    expect(driver.acquire('c', 'o3', 'k', 60)).toEqual([])
  })

  it('S8: when the last waiter leaves, the expiry is lazy again', () => {
    const driver = new TableDriver()
    driver.acquire('a', 'o1', 'k', 0, 1)
    driver.acquire('b', 'o2', 'k', 60)
    expect(driver.table.nextExpiry).toBe(1000)
    driver.table.sessionEnded('b')
    expect(driver.table.nextExpiry).toBe(Number.POSITIVE_INFINITY)
    driver.pass(1)
    expect(driver.sweep()).toEqual(['k'])
  })

  it('S8: a grant that was never handed out is taken back, and the key passes on at once', () => {
    const driver = new TableDriver()
    driver.acquire('a', 'o1', 'k', 0)
    driver.acquire('b', 'o2', 'k', 60)
    driver.acquire('c', 'o3', 'k', 60)
    driver.handsOut = false
    expect(driver.release('a', 'k', 1n)).toEqual(['a: R 1 k', 'b: A 2 o2 k'])
    expect(driver.takeBack('k', 2n)).toEqual(['c: A 3 o3 k'])
    expect(driver.takeBack('k', 2n), 'a second time').toEqual([])
    expect(driver.takeBack('k', 3n)).toEqual([])
    expect(driver.table.keyCount).toBe(0)
  })

  it('S8: a grant that was handed out is not taken back', () => {
    const driver = new TableDriver()
    driver.acquire('a', 'o1', 'k', 0)
    driver.acquire('b', 'o2', 'k', 60)
    expect(driver.takeBack('k', 1n)).toEqual([])
    expect(driver.acquire('c', 'o3', 'k', 0)).toEqual(['c: T o3 k'])
  })

  it('S9: the lease starts when the grant is handed out, not when it is decided, and is rounded up', () => {
    const driver = new TableDriver()
    driver.handsOut = false
    driver.acquire('a', 'o1', 'k', 0, 1)
    driver.acquire('b', 'o2', 'k', 60)
    driver.pass(10)
    expect(driver.table.nextExpiry, 'no deadline yet').toBe(Number.POSITIVE_INFINITY)
    expect(driver.acquire('c', 'o3', 'k', 0)).toEqual(['c: T o3 k'])
    driver.table.handedOut('k', 1n, 10_000.25)
    expect(driver.table.nextExpiry).toBe(11_001)
    driver.table.handedOut('k', 1n, 10_900)
    expect(driver.table.nextExpiry, 'handed out twice').toBe(11_001)
    driver.now = 11_000.9
    expect(driver.expire()).toEqual([])
    driver.now = 11_001
    expect(driver.expire()).toEqual(['b: A 2 o2 k'])
  })

  it('S9: handing out a grant that has passed on meanwhile starts no lease', () => {
    const driver = new TableDriver()
    driver.handsOut = false
    driver.acquire('a', 'o1', 'k', 0, 1)
    driver.acquire('b', 'o2', 'k', 60)
    driver.release('a', 'k', 1n)
    driver.table.handedOut('k', 1n, driver.now)
    driver.table.handedOut('gone', 1n, driver.now)
    driver.pass(5)
    expect(driver.acquire('c', 'o3', 'k', 0)).toEqual(['c: T o3 k'])
  })

  it('S10: every grant has the next token, whatever its key and however it came about', () => {
    const driver = new TableDriver()
    driver.acquire('s', 'o1', 'k1', 0, 1)
    driver.acquire('s', 'o2', 'k2', 60, 1)
    driver.acquire('s', 'o3', 'k2', 60, 1)
    driver.acquire('s', 'o4', 'k1', 0, 1)
    expect(driver.release('s', 'k2', 2n)).toEqual(['s: R 2 k2', 's: A 3 o3 k2'])
    driver.pass(1)
    expect(driver.acquire('s', 'o5', 'k1', 0)).toEqual(['s: A 4 o5 k1'])
    driver.release('s', 'k1', 4n)
    expect(driver.acquire('s', 'o6', 'k1', 0)).toEqual(['s: A 5 o6 k1'])
  })

  it('S12: a release after a stall past the wait: the overdue waiter gets T, the next one A', () => {
    const driver = new TableDriver()
    driver.acquire('a', 'o1', 'k', 0, 100)
    driver.acquire('b', 'o2', 'k', 1)
    driver.acquire('c', 'o3', 'k', 60)
    driver.pass(1)
    expect(driver.release('a', 'k', 1n)).toEqual(['b: T o2 k', 'a: R 1 k', 'c: A 2 o3 k'])
  })

  it('S12: if every waiter is overdue, the key is free', () => {
    const driver = new TableDriver()
    driver.acquire('a', 'o1', 'k', 0, 100)
    driver.acquire('b', 'o2', 'k', 1)
    driver.acquire('c', 'o3', 'k', 2)
    driver.pass(30)
    expect(driver.release('a', 'k', 1n)).toEqual(['b: T o2 k', 'c: T o3 k', 'a: R 1 k'])
    expect(driver.table.keyCount).toBe(0)
  })

  it('S12: taking a grant back and an expiry pass over overdue waiters too', () => {
    const driver = new TableDriver()
    driver.handsOut = false
    driver.acquire('a', 'o1', 'k', 0, 100)
    driver.acquire('b', 'o2', 'k', 1)
    driver.acquire('c', 'o3', 'k', 60)
    driver.pass(1)
    expect(driver.takeBack('k', 1n)).toEqual(['b: T o2 k', 'c: A 2 o3 k'])
  })

  it('S12: once a grant is decided its wait is dead', () => {
    const driver = new TableDriver()
    driver.acquire('a', 'o1', 'k', 0)
    driver.acquire('b', 'o2', 'k', 1)
    driver.handsOut = false
    driver.release('a', 'k', 1n)
    expect(driver.table.nextWaitEnd).toBe(Number.POSITIVE_INFINITY)
    driver.pass(10)
    expect(driver.endWaits()).toEqual([])
    expect(driver.acquire('c', 'o3', 'k', 0), 'still held, though not handed out').toEqual(['c: T o3 k'])
  })
})
