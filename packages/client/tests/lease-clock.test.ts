import { elapsedMilliseconds, LeaseClock, laterMoment } from '@ticketing/client/internal'
import { describe, expect, test } from 'vitest'
import { ManualClock } from './support/manual-clock.js'

describe('lease clock', () => {
  test('C9: elapsed is the greater of the monotonic and the wall clock', () => {
    const since = { monotonic: 100, wall: 10_000 }
    expect(elapsedMilliseconds(since, { monotonic: 400, wall: 10_300 })).toBe(300)
    expect(elapsedMilliseconds(since, { monotonic: 400, wall: 70_000 })).toBe(60_000)
    expect(elapsedMilliseconds(since, { monotonic: 400, wall: 0 })).toBe(300)
  })

  test('C9: the later of two proven moments counts', () => {
    const [early, late] = [
      { monotonic: 1, wall: 10 },
      { monotonic: 2, wall: 5 },
    ]
    expect(laterMoment(early, late)).toBe(late)
    expect(laterMoment(late, early)).toBe(late)
    expect(laterMoment(early, undefined)).toBe(early)
  })

  test('C9: what remains counts down, a suspend takes from it, and it is never negative', () => {
    const clock = new ManualClock()
    const lease = new LeaseClock(clock, clock.now(), 30)
    expect(lease.remainingSeconds()).toBe(30)
    clock.advance(4_500)
    expect(lease.remainingSeconds()).toBe(25.5)
    clock.moveWall(-3_600_000)
    expect(lease.remainingSeconds()).toBe(25.5)
    clock.moveWall(3_600_000 + 20_000)
    expect(lease.remainingSeconds()).toBe(5.5)
    clock.moveWall(20_000)
    expect(lease.remainingSeconds()).toBe(0)
  })
})
