import { type FenceError, sectionKeysMax } from '@ticketing/core'
import { describe, expect, it } from 'vitest'
import { type PgFence, pgFence } from '../src/index.js'
import { noBroker, rejection } from './support/test-bed.js'

/** A pool and a lock service that note whether anybody asked them for something. */
function untouched() {
  const asked: string[] = []
  const note = (what: string) => async () => {
    asked.push(what)
    throw new Error(`${what} should not have been asked for`)
  }
  const fence = pgFence({ connect: note('a connection') }, { broker: { acquire: note('a ticket') } })
  return { asked, fence }
}

async function expectRefused(call: (fence: PgFence) => Promise<unknown>, message: RegExp): Promise<void> {
  const { asked, fence } = untouched()
  const error = (await rejection(call(fence))) as FenceError
  expect(error).toMatchObject({ code: 'FENCE_INVALID_ARGUMENT', outcome: 'not-executed' })
  expect(error.message).toMatch(message)
  expect(error.message).toContain('Nothing was sent')
  expect(asked).toEqual([])
}

const times = { wait: 1, lease: 10, minWork: 1 }
const work = () => undefined

describe('C13, F3: bad input to run is refused before a ticket or a connection is asked for', () => {
  it.each<[string, unknown, RegExp]>([
    ['an empty key', '', /key "".*1.*128/],
    ['129 bytes', 'x'.repeat(129), /key "x+.*129 bytes.*1 to 128/],
    ['129 bytes of fewer characters', `${'é'.repeat(64)}x`, /129 bytes.*1 to 128/],
    ['a space', 'a b', /key "a b".*U\+0020/],
    ['a tab', 'a\tb', /U\+0009/],
    ['NUL', 'a\0b', /U\+0000/],
    ['DEL', 'a\u007fb', /U\+007F/],
    ['a lone high surrogate', 'a\ud800', /surrogate/],
    ['a lone low surrogate', '\udc00a', /surrogate/],
    ['a number', 7, /key 7.*string/],
    ['undefined', undefined, /key undefined.*string/],
    ['a bad key among good ones', ['good', 'not good', 'fine'], /key "not good"/],
    ['a list in a list', [['a']], /string/],
    ['no key', [], /keys: .*1 to 64.*empty/],
    ['too many keys', Array.from({ length: sectionKeysMax + 1 }, (_, n) => `k${n}`), /keys: .*1 to 64 keys, not 65/],
  ])('as key: %s', async (_, key, message) => {
    await expectRefused((fence) => fence.run(key as string, times, work), message)
  })

  it.each<[string, object, RegExp]>([
    ['a negative wait', { wait: -1 }, /wait.*0.*255.*-1/],
    ['a wait above the range', { wait: 256 }, /wait.*0.*255.*256/],
    ['a wait that must be milliseconds', { wait: 5000 }, /wait.*0.*255.*5000/],
    ['a wait of NaN', { wait: Number.NaN }, /wait.*NaN/],
    ['an infinite wait', { wait: Number.POSITIVE_INFINITY }, /wait.*Infinity/],
    ['a wait without a unit', { wait: '5' }, /wait.*"5"/],
    ['a wait in minutes', { wait: '5m' }, /wait.*"5m"/],
    ['a missing wait', { wait: undefined }, /wait/],
    ['a lease of 0', { lease: 0 }, /lease.*1.*250.*0/],
    ['a lease above the range', { lease: 251 }, /lease.*1.*250.*251/],
    ['a lease above the range as text', { lease: '250001ms' }, /lease.*1.*250/],
    ['a lease of NaN', { lease: Number.NaN }, /lease.*NaN/],
    ['a missing lease', { lease: undefined }, /lease/],
    ['a negative minWork', { minWork: -0.001 }, /minWork.*-0\.001/],
    ['a minWork above the lease', { minWork: 11 }, /minWork.*10 seconds.*11/],
    ['a minWork above the lease once it is rounded up', { lease: '9500ms', minWork: 10.5 }, /minWork/],
    ['a missing minWork', { minWork: undefined }, /minWork/],
    ['negative retries', { retries: -1 }, /retries.*0 to 100.*-1/],
    ['fractional retries', { retries: 1.5 }, /retries.*0 to 100.*1\.5/],
    ['too many retries', { retries: 101 }, /retries.*0 to 100.*101/],
    ['retries of NaN', { retries: Number.NaN }, /retries.*NaN/],
    ['an unknown isolation', { isolation: 'snapshot' }, /isolation.*read committed.*"snapshot"/],
    ['an isolation that would be SQL', { isolation: 'read committed; DROP TABLE account' }, /isolation/],
    ['a signal that is none', { signal: { aborted: false } }, /signal.*AbortSignal/],
    ['an unknown option', { leaseSeconds: 5 }, /unknown option "leaseSeconds".*known are wait, lease/],
    ['a misspelt option', { minwork: 1 }, /unknown option "minwork"/],
  ])('as option: %s', async (_, option, message) => {
    await expectRefused((fence) => fence.run('key', { ...times, ...option }, work), message)
  })

  it.each<[string, unknown[], RegExp]>([
    ['no work', ['key', times], /work: .*function/],
    ['work in the place of a key', [work], /work: .*function/],
    ['an object as work', ['key', times, {}], /work: .*function/],
    ['options that are a text', ['key', '5s', work], /options: .*object/],
    ['no options and no defaults', ['key', work], /wait|lease/],
  ])('as arguments: %s', async (_, given, message) => {
    await expectRefused((fence) => (fence.run as (...given: unknown[]) => Promise<unknown>)(...given), message)
  })
})

describe('bad input to pgFence throws at once', () => {
  const pool = { connect: () => Promise.reject(new Error('should not have been asked')) }

  it.each<[string, unknown, unknown, RegExp]>([
    ['no pool', undefined, { broker: noBroker }, /pool: must be a Pool/],
    ['a pool without connect', {}, { broker: noBroker }, /pool: must be a Pool/],
    ['a client', { ...pool, processID: 7 }, { broker: noBroker }, /pool: is a Client .* pass a Pool/],
    ['no options', pool, undefined, /broker/],
    ['null as options', pool, null, /broker/],
    ['no broker', pool, {}, /broker: must be a TicketBroker/],
    ['an address as broker', pool, { broker: '127.0.0.1:5225' }, /broker: must be a TicketBroker/],
    [
      'an unknown option',
      pool,
      { broker: noBroker, tabel: 'x' },
      /unknown option "tabel"; known are broker, table, defaults, logger, prepare/,
    ],
    ['a table that is no text', pool, { broker: noBroker, table: 5 }, /table: must be a string/],
    ['a logger that cannot warn', pool, { broker: noBroker, logger: {} }, /logger: must have a warn method/],
    ['prepare that is no boolean', pool, { broker: noBroker, prepare: 'no' }, /prepare: must be true or false/],
    ['a default out of range', pool, { broker: noBroker, defaults: { lease: 300 } }, /lease.*1.*250.*300/],
    [
      'defaults that contradict',
      pool,
      { broker: noBroker, defaults: { lease: 5, minWork: 6 } },
      /minWork.*5 seconds.*6/,
    ],
    ['a default isolation', pool, { broker: noBroker, defaults: { isolation: 'chaos' } }, /isolation.*"chaos"/],
    ['a signal as default', pool, { broker: noBroker, defaults: { signal: null } }, /unknown option "signal"/],
  ])('%s', (_, given, options, message) => {
    const make = () => (pgFence as (...given: unknown[]) => unknown)(given, options)
    expect(make).toThrow(expect.objectContaining({ code: 'FENCE_INVALID_ARGUMENT', outcome: 'not-executed' }))
    expect(make).toThrow(message)
  })
})
