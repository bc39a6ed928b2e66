import { describe, expect, test } from 'vitest'
import { postgres } from '../src/index.js'

const bounds = { transactionMilliseconds: 9_999, claimMilliseconds: 8_888 }
const attempt = new Uint8Array(16).fill(0xab)
const tables = postgres.tables('ticketing_fence')

describe('the SQL of PostgreSQL', () => {
  test.each([
    ['fence', '"fence"', '"fence_floor"'],
    ['Fence', '"Fence"', '"Fence_floor"'],
    ['app.fence', '"app"."fence"', '"app"."fence_floor"'],
    ['x"; DROP TABLE y; --', '"x""; DROP TABLE y; --"', '"x""; DROP TABLE y; --_floor"'],
  ])('F1: the table %s is quoted whole, and so is its floor', (name, fence, floor) => {
    expect(postgres.tables(name)).toEqual({ name, fence, floor })
  })

  test('F11, F4: bounds, attempt, keys and tokens are parameters, each as text', () => {
    const one = postgres.claim(tables, [{ key: 'a', token: 2n ** 63n - 1n }], attempt, bounds)
    expect(one.values).toEqual(['9999', '8888', 'ab'.repeat(16), '61', '9223372036854775807'])
    const claims = [
      { key: 'a', token: 1n },
      { key: '\uFF5E', token: 2n ** 62n },
    ]
    const many = postgres.claim(tables, claims, attempt, bounds)
    expect(many.values.slice(3)).toEqual([
      ['61', 'efbd9e'],
      ['1', '4611686018427387904'],
    ])
    for (const { text, values } of [one, many]) {
      const parameters = new Set([...text.matchAll(/\$(\d+)/g)].map((match) => Number(match[1])))
      expect([...parameters].sort()).toEqual(values.map((_, index) => index + 1))
    }
  })

  test('F11: stored tokens above 2^53 are read without loss, and a missing row is absent', () => {
    const rows = [
      { n: '1', token: '9007199254740993', floor: '9007199254740995', schema_version: '100' },
      { n: '2', token: null, floor: '9007199254740995', schema_version: '100' },
    ]
    expect(postgres.readStoredTokens(['a', 'b'], rows)).toEqual({
      floor: 9007199254740995n,
      schemaVersion: 100,
      highWaters: new Map([['a', 9007199254740993n]]),
    })
  })

  test('F12: the identity is read as text, and a transaction without one has none', () => {
    expect(postgres.readClaim([{ identity: '4294967296', resend: 'false' }])).toEqual({
      claimed: 1,
      identity: '4294967296',
    })
    expect(postgres.readIdentity([{ identity: null }])).toBeUndefined()
    expect(postgres.readIdentity([{ identity: '7' }])).toBe('7')
  })

  test.each([
    [undefined, false, 'unknown'],
    ['40001', false, 'serialisation'],
    ['40P01', false, 'serialisation'],
    ['55P03', false, 'blocked'],
    ['57014', false, 'blocked'],
    ['25P03', true, 'lease-ended'],
    ['25P04', true, 'lease-ended'],
    ['42P01', false, 'no-table'],
    ['25P02', false, 'aborted'],
    ['40003', false, 'unknown'],
    ['08006', false, 'unknown'],
    ['57P01', true, 'unknown'],
    ['57P05', true, 'unknown'],
    ['XX000', true, 'unknown'],
    ['XX000', false, 'definite'],
    ['23505', false, 'definite'],
    ['42501', false, 'definite'],
  ] as const)('F5, F6: SQLSTATE %s (fatal: %s) is %s', (sqlState, fatal, meaning) => {
    expect(postgres.errorMeaning(sqlState, fatal)).toBe(meaning)
  })
})
