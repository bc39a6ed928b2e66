import { describe, expect, test } from 'vitest'
import { ReconnectDelay } from '../src/reconnect.js'

describe('reconnect', () => {
  test('C15: the back-off doubles from 100 ms up to 3.2 s', () => {
    const delay = new ReconnectDelay(() => 1)
    expect(Array.from({ length: 8 }, () => delay.next(0))).toEqual([100, 200, 400, 800, 1600, 3200, 3200, 3200])
  })

  test('C15: full jitter draws between nothing and the bound', () => {
    expect(new ReconnectDelay(() => 0).next(0)).toBe(0)
    const delay = new ReconnectDelay(() => 0.25)
    expect([delay.next(0), delay.next(0)]).toEqual([25, 50])
  })

  test('C15: a session of at least 1 s starts the back-off afresh, a shorter one counts as failed', () => {
    const delay = new ReconnectDelay(() => 1)
    delay.next(0)
    expect(delay.next(999)).toBe(200)
    expect(delay.next(1000)).toBe(100)
    expect(delay.next(0)).toBe(200)
  })
})
