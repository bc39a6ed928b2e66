import { normaliseTimes, parseDuration, TicketError } from '@ticketing/client'
import { describe, expect, test } from 'vitest'

function times(given: Record<string, unknown>): unknown {
  return normaliseTimes({ wait: 5, lease: 30, minWork: 1, ...given })
}

describe('durations', () => {
  test.each([
    [5, 5],
    [0.25, 0.25],
    ['5s', 5],
    ['500ms', 0.5],
    ['1.5s', 1.5],
    ['2e3ms', 2],
    ['0ms', 0],
    ['10S', 10],
  ])('C13: %j is %d seconds', (value, seconds) => {
    expect(parseDuration('field', value, { min: 0, max: 255 })).toBe(seconds)
  })

  test.each([
    undefined,
    null,
    '',
    '5',
    's',
    '5 s',
    '5m',
    '5min',
    '1h',
    'Infinitys',
    '0x5s',
    true,
    {},
    [5],
    5n,
    Symbol('s'),
  ])('C13: %o is no duration', (value) => {
    expect(() => parseDuration('field', value, { min: 1, max: 250 })).toThrow(
      /^field .*1 to 250 seconds.*Nothing was sent\.$/,
    )
  })
})

describe('times of an acquire', () => {
  test.each([
    [
      { wait: 0.001, lease: 1.2, minWork: 0.5 },
      { waitSeconds: 1, leaseSeconds: 2, minWorkSeconds: 1 },
    ],
    [
      { wait: '254001ms', lease: '249.5s', minWork: '1ms' },
      { waitSeconds: 255, leaseSeconds: 250, minWorkSeconds: 1 },
    ],
    [
      { wait: 0, lease: 1, minWork: 0 },
      { waitSeconds: 0, leaseSeconds: 1, minWorkSeconds: 0 },
    ],
    [
      { wait: -0, lease: 250, minWork: 250 },
      { waitSeconds: 0, leaseSeconds: 250, minWorkSeconds: 250 },
    ],
    [
      { wait: 255, lease: 1.5, minWork: 2 },
      { waitSeconds: 255, leaseSeconds: 2, minWorkSeconds: 2 },
    ],
  ])('C13: fractions are rounded up, and nothing else changes: %j', (given, expected) => {
    expect(times(given)).toEqual(expected)
    expect(Object.is((times(given) as { waitSeconds: number }).waitSeconds, -0)).toBe(false)
  })

  test.each<[string, Record<string, unknown>, string[]]>([
    ['wait in milliseconds', { wait: 5000 }, ['wait', '0 to 255 seconds', 'got 5000 (seconds)', "'5000ms'"]],
    ['lease in milliseconds', { lease: 30_000 }, ['lease', '1 to 250 seconds', '30000', "'30000ms'"]],
    ['a wait above its range by a fraction', { wait: 255.001 }, ['wait', '0 to 255 seconds', '255.001']],
    ['a lease below its range, though it would round up', { lease: 0.5 }, ['lease', '1 to 250 seconds', '0.5']],
    ['a lease above its range, though as a string', { lease: '251s' }, ['lease', '1 to 250 seconds', '"251s"']],
    ['negative wait', { wait: -1 }, ['wait', '0 to 255 seconds', '-1']],
    ['negative wait as a string', { wait: '-5s' }, ['wait', '0 to 255 seconds', '"-5s"']],
    ['NaN', { wait: Number.NaN }, ['wait', '0 to 255 seconds', 'NaN']],
    ['Infinity', { lease: Number.POSITIVE_INFINITY }, ['lease', '1 to 250 seconds', 'Infinity']],
    ['-Infinity', { minWork: Number.NEGATIVE_INFINITY }, ['minWork', '0 to 250 seconds', '-Infinity']],
    ['infinite string', { lease: '1e999s' }, ['lease', '1 to 250 seconds', '"1e999s"']],
    ['work over 250 s', { lease: 250, minWork: 251 }, ['minWork', '0 to 250 seconds', '251']],
    [
      'minWork above the lease',
      { lease: 2, minWork: 2.5 },
      ['minWork', '0 seconds up to the lease', '2 seconds', '2.5'],
    ],
    ['a missing wait', { wait: undefined }, ['wait is required', '0 to 255 seconds']],
    ['a missing lease', { lease: undefined }, ['lease is required', '1 to 250 seconds']],
    ['a missing minWork', { minWork: undefined }, ['minWork is required', '0 to 250 seconds']],
  ])('C13: %s is refused', (_, given, parts) => {
    const error = (() => {
      try {
        return times(given)
      } catch (thrown) {
        return thrown
      }
    })()
    expect(error).toBeInstanceOf(TicketError)
    expect(error).toMatchObject({ code: 'TICKET_INVALID_ARGUMENT', outcome: 'not-executed' })
    for (const part of parts) expect((error as TicketError).message).toContain(part)
  })

  test('C13: a value that is out of range as milliseconds too gets no hint', () => {
    expect(() => times({ lease: 300_000 })).not.toThrow("'300000ms'")
    expect(() => times({ lease: 300_000 })).toThrow('1 to 250 seconds')
  })
})
