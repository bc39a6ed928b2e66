import { describe, expect, it } from 'vitest'
import { TableDriver } from './table-driver.js'

describe('S6: what takes a capacity that is used up gets B; what does not, does not', () => {
  it('S6: waiters per key: wait 1 gets B, wait 0 gets T, another key still queues', () => {
    const driver = new TableDriver({ limits: { waitersPerKeyMax: 2 } })
    for (const key of ['k', 'other']) driver.acquire('holder', 'h', key, 0)
    driver.acquire('a', 'o1', 'k', 5)
    driver.acquire('a', 'o2', 'k', 5)
    expect(driver.acquire('b', 'o3', 'k', 1)).toEqual(['b: B o3 k'])
    expect(driver.acquire('b', 'o4', 'k', 0)).toEqual(['b: T o4 k'])
    expect(driver.acquire('b', 'o5', 'other', 1)).toEqual([])
  })

  it('S6: waiters in total: wait 1 gets B on every key, wait 0 gets T, a free key A', () => {
    const driver = new TableDriver({ limits: { waitersMax: 2 } })
    for (const key of ['k', 'other']) driver.acquire('holder', 'h', key, 0)
    driver.acquire('a', 'o1', 'k', 5)
    driver.acquire('a', 'o2', 'other', 5)
    expect(driver.acquire('b', 'o3', 'k', 1)).toEqual(['b: B o3 k'])
    expect(driver.acquire('b', 'o4', 'other', 1)).toEqual(['b: B o4 other'])
    expect(driver.acquire('b', 'o5', 'k', 0)).toEqual(['b: T o5 k'])
    expect(driver.acquire('b', 'o6', 'free', 1)).toEqual(['b: A 3 o6 free'])
  })

  it('S6: registered keys: a new key gets B with any wait; an expired one gets A, a held one T or its queue', () => {
    const driver = new TableDriver({ limits: { keysMax: 2 } })
    driver.acquire('holder', 'h', 'short', 0, 5)
    driver.acquire('holder', 'h', 'long', 0, 50)
    driver.pass(5)
    expect(driver.acquire('a', 'o1', 'new', 0)).toEqual(['a: B o1 new'])
    expect(driver.acquire('a', 'o2', 'new', 5)).toEqual(['a: B o2 new'])
    expect(driver.acquire('a', 'o3', 'long', 0)).toEqual(['a: T o3 long'])
    expect(driver.acquire('a', 'o4', 'long', 5)).toEqual([])
    expect(driver.acquire('a', 'o5', 'short', 0)).toEqual(['a: A 3 o5 short'])
    driver.release('a', 'short', 3n)
    expect(driver.acquire('a', 'o6', 'new', 0)).toEqual(['a: A 4 o6 new'])
  })

  it('S6: outstanding acquires per session: B to that session alone, until one of them is answered', () => {
    const driver = new TableDriver({ limits: { outstandingPerSessionMax: 2 } })
    for (const key of ['k1', 'k2', 'k3']) driver.acquire('holder', 'h', key, 0, 100)
    driver.acquire('a', 'o1', 'k1', 5)
    driver.acquire('a', 'o2', 'k2', 50)
    expect(driver.acquire('a', 'o3', 'k3', 1)).toEqual(['a: B o3 k3'])
    expect(driver.acquire('a', 'o4', 'k3', 0)).toEqual(['a: T o4 k3'])
    expect(driver.acquire('a', 'o5', 'free', 1)).toEqual(['a: A 4 o5 free'])
    expect(driver.acquire('b', 'o6', 'k3', 1)).toEqual([])
    driver.pass(5)
    expect(driver.acquire('a', 'o7', 'k3', 1)).toEqual(['b: T o6 k3', 'a: T o1 k1'])
    expect(driver.acquire('a', 'o8', 'k3', 1)).toEqual(['a: B o8 k3'])
    expect(driver.release('holder', 'k2', 2n)).toEqual(['holder: R 2 k2', 'a: A 5 o2 k2'])
    expect(driver.acquire('a', 'o9', 'k3', 1)).toEqual([])
  })

  it('S6: waits that are over free their places before a frame of the same instant is refused', () => {
    const driver = new TableDriver({ limits: { waitersPerKeyMax: 1, waitersMax: 1, outstandingPerSessionMax: 1 } })
    driver.acquire('holder', 'h', 'k', 0, 100)
    driver.acquire('a', 'o1', 'k', 5)
    driver.pass(5)
    expect(driver.acquire('a', 'o2', 'k', 5)).toEqual(['a: T o1 k'])
    expect(driver.table.waiterCount).toBe(1)
  })

  it('S6: a release is never refused for capacity', () => {
    const driver = new TableDriver({
      limits: { keysMax: 1, waitersPerKeyMax: 1, waitersMax: 1, outstandingPerSessionMax: 1 },
    })
    driver.acquire('a', 'o1', 'k', 0)
    driver.acquire('a', 'o2', 'k', 5)
    expect(driver.release('a', 'none', 1n)).toEqual(['a: N 1 none'])
    expect(driver.release('a', 'k', 1n)).toEqual(['a: R 1 k', 'a: A 2 o2 k'])
  })
})
