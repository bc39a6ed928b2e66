import { describe, expect, test } from 'vitest'
import { FenceError, sectionKeysMax } from '../src/index.js'
import { rejection } from './support/gate.js'
import { type HostKind, hostKinds } from './support/recording-host.js'
import { defaults, sectionWorld } from './support/section-world.js'

const [kind] = hostKinds as [HostKind]
const work = () => undefined

/** What, keys, options, and what the message must name: the field, the value and the range. */
const runRows: [string, unknown, unknown, string[]][] = [
  ['an empty key', '', {}, ['key ""', 'empty', '1 to 128 bytes']],
  ['a key of 129 bytes', 'k'.repeat(129), {}, ['key "kkk', '129 bytes', '1 to 128']],
  ['a key of 129 bytes in 43 characters', '€'.repeat(43), {}, ['129 bytes', '1 to 128']],
  ['a key with a space', 'a b', {}, ['key "a b"', 'U+0020', 'position 1']],
  ['a key with NUL', 'a\0', {}, ['key "a\\u0000"', 'U+0000']],
  ['a key with DEL', 'a\x7f', {}, ['U+007F']],
  ['a lone surrogate', 'a\ud800', {}, ['lone surrogate', 'position 1']],
  ['a number as key', 42, {}, ['key 42', 'must be a string, not number']],
  ['a bigint as key', 42n, {}, ['key 42n', 'must be a string, not bigint']],
  ['no key', undefined, {}, ['must be a string, not undefined']],
  ['null as key', null, {}, ['key null', 'must be a string']],
  ['a symbol as key', Symbol('s'), {}, ['must be a string, not symbol']],
  ['a set of keys', new Set(['a']), {}, ['must be a string, not object']],
  ['no keys', [], {}, ['keys', `1 to ${sectionKeysMax}`, 'empty']],
  ['too many keys', Array.from({ length: 65 }, (_, n) => `k${n}`), {}, ['keys', `1 to ${sectionKeysMax}`, '65']],
  ['one bad key among good ones', ['a', 'b c'], {}, ['key "b c"', 'U+0020']],
  ['a hole among the keys', new Array(2), {}, ['must be a string, not undefined']],
  ['null options', 'a', null, ['options', 'null', 'wait, lease, minWork']],
  ['a number as options', 'a', 5, ['options', '5', 'wait, lease, minWork']],
  ['an array as options', 'a', [], ['options', 'an array', 'wait, lease, minWork']],
  [
    'an unknown option',
    'a',
    { minwork: 1 },
    ['options', '"minwork"', 'wait, lease, minWork, isolation, retries, signal'],
  ],
  ['two unknown options', 'a', { waits: 1, ttl: 2 }, ['"waits"', '"ttl"']],
  ['a wait in milliseconds', 'a', { wait: 5000 }, ['wait', '0 to 255 seconds', '5000', "'5000ms'"]],
  ['a negative wait', 'a', { wait: -1 }, ['wait', '0 to 255 seconds', '-1']],
  ['a wait of 256 s', 'a', { wait: '256s' }, ['wait', '0 to 255 seconds', '256s']],
  ['a lease of 0', 'a', { lease: 0 }, ['lease', '1 to 250 seconds', '0']],
  ['a lease above 250 s', 'a', { lease: 251 }, ['lease', '1 to 250 seconds', '251']],
  ['NaN', 'a', { lease: Number.NaN }, ['lease', '1 to 250 seconds', 'NaN']],
  ['Infinity', 'a', { minWork: Number.POSITIVE_INFINITY }, ['minWork', '0 to 250 seconds', 'Infinity']],
  ['a time without a unit', 'a', { wait: '5' }, ['wait', '0 to 255 seconds', '"5"']],
  ['null as a time', 'a', { lease: null }, ['lease', '1 to 250 seconds', 'null']],
  ['a minWork above the lease', 'a', { lease: 5, minWork: 6 }, ['minWork', '5 seconds', '6']],
  ['a minWork above the default lease', 'a', { minWork: 11 }, ['minWork', '10 seconds', '11']],
  [
    'an unknown isolation level',
    'a',
    { isolation: 'READ COMMITTED' },
    ['isolation', '"READ COMMITTED"', 'serializable'],
  ],
  ['a bigint as isolation level', 'a', { isolation: 1n }, ['isolation', '1n', 'serializable']],
  ['negative retries', 'a', { retries: -1 }, ['retries', '0 to 100', '-1']],
  ['half a retry', 'a', { retries: 0.5 }, ['retries', '0 to 100', '0.5']],
  ['too many retries', 'a', { retries: 101 }, ['retries', '0 to 100', '101']],
  ['retries as text', 'a', { retries: '3' }, ['retries', '0 to 100', '"3"']],
  ['a controller as signal', 'a', { signal: new AbortController() }, ['signal', 'AbortSignal', 'an object']],
]

describe('run', () => {
  test.each(runRows)('C13, F1: %s is refused before anything is sent', async (_what, keys, options, words) => {
    const { fence, journal } = sectionWorld(kind)
    const error = await rejection(fence.run(keys as string, options as object, work))
    expect(error).toBeInstanceOf(FenceError)
    expect(error).toMatchObject({ code: 'FENCE_INVALID_ARGUMENT', outcome: 'not-executed' })
    for (const word of [...words, 'Nothing was sent']) expect((error as Error).message).toContain(word)
    expect((error as Error).message).not.toContain('..')
    expect(journal).toEqual([])
  })

  test.each([
    ['no work', [undefined]],
    ['a promise as work', [Promise.resolve()]],
    ['only options', [{ wait: 1 }]],
    ['no work after options', [{ wait: 1 }, undefined]],
  ])('F1: %s is refused before anything is sent', async (_what, rest) => {
    const { fence, journal } = sectionWorld(kind)
    const run = fence.run as unknown as (...args: unknown[]) => Promise<unknown>
    const error = await rejection(run('a', ...rest))
    expect(error).toMatchObject({ code: 'FENCE_INVALID_ARGUMENT' })
    expect((error as Error).message).toContain('work: must be a function, the last argument of run')
    expect(journal).toEqual([])
  })

  test('C13: without defaults, wait, lease and minWork are required', async () => {
    const { fence, journal } = sectionWorld(kind, { defaults: undefined })
    for (const name of ['wait', 'lease', 'minWork']) {
      const options = { ...defaults, [name]: undefined }
      const error = await rejection(fence.run('a', options, work))
      expect(error).toMatchObject({ code: 'FENCE_INVALID_ARGUMENT' })
      expect((error as Error).message).toContain(`${name} is required`)
    }
    expect(journal).toEqual([])
  })

  test.each([
    [
      { wait: 0, lease: 1, minWork: 0 },
      { waitSeconds: 0, leaseSeconds: 1 },
    ],
    [
      { wait: 255, lease: 250, minWork: 250 },
      { waitSeconds: 255, leaseSeconds: 250 },
    ],
    [
      { wait: '1ms', lease: '1.2s', minWork: 1.1 },
      { waitSeconds: 1, leaseSeconds: 2 },
    ],
  ] as const)('C13: the ends of the ranges are allowed, and fractions are rounded up: %j', async (options, sent) => {
    const { fence, broker } = sectionWorld(kind)
    await fence.run('a', options, work)
    expect(broker.acquires[0]?.options).toMatchObject({ wait: sent.waitSeconds, lease: sent.leaseSeconds })
  })

  test('F8: 64 keys are allowed', async () => {
    const { fence, journal } = sectionWorld(kind)
    await fence.run(
      Array.from({ length: sectionKeysMax }, (_, n) => `k${n}`),
      work,
    )
    expect(journal.filter((step) => step.startsWith('acquire'))).toHaveLength(64)
  })
})

/** What, options besides the broker, and what the message must name. */
const fenceRows: [string, object, string[]][] = [
  ['an unknown option', { tabel: 'x' }, ['"tabel"', 'broker, table, defaults, logger']],
  ['no broker', { broker: undefined }, ['broker', 'acquire']],
  ['null as broker', { broker: null }, ['broker', 'acquire']],
  ['something else as broker', { broker: { acquired: work } }, ['broker', 'acquire']],
  ['a number as table', { table: 5 }, ['table', '5', 'schema.table']],
  ['an empty table', { table: '' }, ['table', '""', 'schema.table']],
  ['a table of three parts', { table: 'a.b.c' }, ['table', '"a.b.c"', 'schema.table']],
  ['a table without its schema', { table: '.b' }, ['table', '".b"']],
  ['a table too long for its floor', { table: 'x'.repeat(58) }, ['table', 'at most 57']],
  ['a logger without warn', { logger: { info: work } }, ['logger', 'warn']],
  ['null as logger', { logger: null }, ['logger', 'warn']],
  ['null as defaults', { defaults: null }, ['defaults', 'null']],
  ['a number as defaults', { defaults: 5 }, ['defaults', '5']],
  ['an unknown default', { defaults: { ttl: 5 } }, ['defaults', '"ttl"', 'wait, lease, minWork, isolation, retries']],
  ['a signal as default', { defaults: { signal: new AbortController().signal } }, ['defaults', '"signal"']],
  ['a default wait out of range', { defaults: { wait: 256 } }, ['wait', '0 to 255 seconds', '256']],
  ['a default lease out of range', { defaults: { lease: 0 } }, ['lease', '1 to 250 seconds', '0']],
  ['a default minWork above the default lease', { defaults: { lease: 5, minWork: 6 } }, ['minWork', '5 seconds', '6']],
  ['a default minWork out of range', { defaults: { minWork: 251 } }, ['minWork', '0 to 250 seconds', '251']],
  ['a bad default isolation', { defaults: { isolation: 'snapshot' } }, ['isolation', '"snapshot"', 'serializable']],
  ['bad default retries', { defaults: { retries: -1 } }, ['retries', '0 to 100', '-1']],
]

describe('createFence', () => {
  test.each(fenceRows)('C13, F1: %s is refused at once', (_what, options, words) => {
    let error: unknown
    try {
      sectionWorld(kind, options)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toMatchObject({ code: 'FENCE_INVALID_ARGUMENT', outcome: 'not-executed' })
    for (const word of words) expect((error as Error).message).toContain(word)
  })

  test('C13: options of the caller are never changed, and later changes of them have no effect', async () => {
    const shared = { wait: 5, lease: 10, minWork: 2, retries: 1 }
    const { fence, broker } = sectionWorld(kind, { defaults: shared })
    const keys = Object.freeze(['b', 'a', 'b'])
    const options = Object.freeze({ lease: '3s', signal: new AbortController().signal } as const)
    shared.wait = 99
    await fence.run(keys, options, work)
    expect(broker.acquires.map(({ options }) => options)).toMatchObject(
      Array(2).fill({ wait: 5, lease: 3, minWork: 2 }),
    )
    expect(keys).toEqual(['b', 'a', 'b'])
    expect(shared).toEqual({ wait: 99, lease: 10, minWork: 2, retries: 1 })

    const frozen = Object.freeze({ ...shared, wait: 0 })
    await sectionWorld(kind, Object.freeze({ defaults: frozen })).fence.run('a', work)
  })
})
