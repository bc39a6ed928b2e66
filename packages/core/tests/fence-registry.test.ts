import { describe, expect, test } from 'vitest'
import { registeredFence, registerFence } from '../src/index.js'

const fence = (pool: object, usable = true) => ({ pool, isUsable: () => usable })

describe('the registry of fences', () => {
  test('F9: a fence is found under its adapter and name', () => {
    const one = fence({})
    registerFence('Test 1', 'default', one)
    expect(registeredFence('Test 1', 'default')).toBe(one)
    for (const [adapter, name] of [
      ['Test 1', 'other'],
      ['Test 2', 'default'],
    ] as const) {
      expect(() => registeredFence(adapter, name)).toThrow(
        expect.objectContaining({ code: 'FENCE_NOT_CONFIGURED', outcome: 'not-executed' }),
      )
    }
  })

  test('F9: a new fence on the same pool takes the name; one on another pool only from a fence that is over', () => {
    const pool = {}
    registerFence('Test 3', 'default', fence(pool))
    const second = fence(pool)
    registerFence('Test 3', 'default', second)
    expect(() => registerFence('Test 3', 'default', fence({}))).toThrow(/"default" belongs to a fence on another/)
    expect(registeredFence('Test 3', 'default')).toBe(second)
    registerFence('Test 3', 'second', fence({}, false))
    const third = fence({})
    registerFence('Test 3', 'second', third)
    expect(registeredFence('Test 3', 'second')).toBe(third)
  })
})
