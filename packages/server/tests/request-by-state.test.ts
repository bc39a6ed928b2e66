import { describe, expect, it } from 'vitest'
import { TableDriver } from './table-driver.js'

// One row for each cell of S1 and S2. Each state of the key `k` comes with the token of its holder.
const states: Record<string, (driver: TableDriver) => void> = {
  'not registered': () => {},
  'registered, expired': (driver) => {
    driver.acquire('holder', 'h', 'k', 0, 10)
    driver.pass(10)
  },
  'registered, expired, waiters': (driver) => {
    driver.acquire('holder', 'h', 'k', 0, 10)
    driver.acquire('waiter', 'w', 'k', 60)
    driver.pass(10)
  },
  'registered, valid holder': (driver) => {
    driver.acquire('holder', 'h', 'k', 0, 10)
    driver.pass(9.999)
  },
  'registered, valid holder, waiters': (driver) => {
    driver.acquire('holder', 'h', 'k', 0, 10)
    driver.acquire('waiter', 'w', 'k', 60)
    driver.acquire('later', 'l', 'k', 60)
  },
}

describe('S1: acquire', () => {
  it.each<[state: string, wait: number, replies: string[], waiters: number]>([
    ['not registered', 0, ['s: A 1 o k'], 0],
    ['not registered', 5, ['s: A 1 o k'], 0],
    ['registered, expired', 0, ['s: A 2 o k'], 0],
    ['registered, expired', 5, ['s: A 2 o k'], 0],
    ['registered, expired, waiters', 0, ['s: A 2 o k'], 1],
    ['registered, expired, waiters', 5, ['s: A 2 o k'], 1],
    ['registered, valid holder', 0, ['s: T o k'], 0],
    ['registered, valid holder', 5, [], 1],
    ['registered, valid holder, waiters', 0, ['s: T o k'], 2],
    ['registered, valid holder, waiters', 5, [], 3],
  ])('S1: key %s, wait %i: %j at once, %i waiting', (state, wait, replies, waiters) => {
    const driver = new TableDriver()
    states[state]?.(driver)
    expect(driver.acquire('s', 'o', 'k', wait)).toEqual(replies)
    expect(driver.table.waiterCount).toBe(waiters)
    expect(driver.table.keyCount).toBe(1)
  })

  it('S1: a queued acquire gets A when its turn comes', () => {
    const driver = new TableDriver()
    states['registered, valid holder']?.(driver)
    driver.acquire('s', 'o', 'k', 5)
    expect(driver.release('holder', 'k', 1n)).toContain('s: A 2 o k')
  })

  it('S1: a queued acquire gets T when its wait ends, not before', () => {
    const driver = new TableDriver()
    driver.acquire('holder', 'h', 'k', 0, 250)
    driver.acquire('s', 'o', 'k', 5)
    driver.pass(4.999)
    expect(driver.endWaits()).toEqual([])
    expect(driver.table.nextWaitEnd).toBe(5000)
    driver.pass(0.001)
    expect(driver.endWaits()).toEqual(['s: T o k'])
    expect(driver.table.waiterCount).toBe(0)
    expect(driver.table.nextWaitEnd).toBe(Number.POSITIVE_INFINITY)
  })

  it('S1: capacity at its limit: B at once, and nothing is queued', () => {
    const driver = new TableDriver({ limits: { waitersPerKeyMax: 2 } })
    states['registered, valid holder, waiters']?.(driver)
    expect(driver.acquire('s', 'o', 'k', 5)).toEqual(['s: B o k'])
    expect(driver.table.waiterCount).toBe(2)
  })
})

describe('S2: release', () => {
  it.each<[state: string, token: bigint, replies: string[], keys: number, waiters: number]>([
    ['registered, valid holder, waiters', 1n, ['s: R 1 k', 'waiter: A 2 w k'], 1, 1],
    ['registered, expired, waiters', 1n, ['s: R 1 k', 'waiter: A 2 w k'], 1, 0],
    ['registered, valid holder', 1n, ['s: R 1 k'], 0, 0],
    ['registered, expired', 1n, ['s: R 1 k'], 0, 0],
    ['registered, valid holder', 2n, ['s: N 2 k'], 1, 0],
    ['registered, valid holder, waiters', 2n, ['s: N 2 k'], 1, 2],
    ['registered, expired', 2n, ['s: N 2 k'], 1, 0],
    ['not registered', 1n, ['s: N 1 k'], 0, 0],
  ])('S2: key %s, token %i: %j', (state, token, replies, keys, waiters) => {
    const driver = new TableDriver()
    states[state]?.(driver)
    expect(driver.release('s', 'k', token)).toEqual(replies)
    expect([driver.table.keyCount, driver.table.waiterCount]).toEqual([keys, waiters])
  })

  it('S2: after a release with another token the lock stands', () => {
    const driver = new TableDriver()
    states['registered, valid holder']?.(driver)
    driver.release('s', 'k', 2n)
    expect(driver.acquire('s', 'o', 'k', 0)).toEqual(['s: T o k'])
    expect(driver.release('holder', 'k', 1n)).toEqual(['holder: R 1 k'])
  })

  it('S2: expired means now ≥ deadline, and a wait is over when now ≥ its end', () => {
    const driver = new TableDriver()
    driver.acquire('a', 'o1', 'k', 0, 5)
    driver.acquire('b', 'o2', 'k', 5)
    driver.pass(4.999)
    expect(driver.acquire('c', 'o3', 'k', 0)).toEqual(['c: T o3 k'])
    driver.pass(0.001)
    expect(driver.acquire('c', 'o4', 'k', 0)).toEqual(['b: T o2 k', 'c: A 2 o4 k'])
  })

  it('S2: at one instant waits end first, then frames are handled, then expiries', () => {
    const driver = new TableDriver()
    driver.acquire('a', 'o1', 'k', 0, 5)
    driver.acquire('b', 'o2', 'k', 5)
    driver.acquire('c', 'o3', 'k', 6)
    driver.pass(5)
    // The frame comes before the expiry, so it takes the key over, past the waiter (S3).
    expect(driver.acquire('d', 'o4', 'k', 0)).toEqual(['b: T o2 k', 'd: A 2 o4 k'])
    expect(driver.expire()).toEqual([])
    // Without a frame the expiry would have handed it on; the wait that ends at that instant gets T all the same.
    const other = new TableDriver()
    other.acquire('a', 'o1', 'k', 0, 5)
    other.acquire('b', 'o2', 'k', 5)
    other.acquire('c', 'o3', 'k', 6)
    other.pass(5)
    expect(other.expire()).toEqual(['b: T o2 k', 'c: A 2 o3 k'])
  })
})
