import { describe, expect, test } from 'vitest'
import { mutants } from '../mutants/mutants.mjs'
import { mutantPlugin, mutatedSources } from '../mutants/plugin.mjs'
import { adaptersIn, judge, promisesLess, type Report, testsOf } from '../mutants/verdict.mjs'

describe('the mutants', () => {
  test.each(mutants)('$name fits the sources as they are', ({ name, edits }) => {
    expect([...mutatedSources(name).keys()]).toHaveLength(new Set(edits.map(({ file }) => file)).size)
  })

  test('an unknown one is an error, and none is no plugin', () => {
    expect(() => mutatedSources('nothing')).toThrow(/no mutant "nothing"; there are no-claim/)
    expect(mutantPlugin('')).toEqual([])
    expect(mutantPlugin('no-claim')).toHaveLength(1)
  })
})

describe('the verdict on a mutant', () => {
  const report = (...tests: readonly [title: string, status: string, failure?: string][]): Report => ({
    testResults: [
      {
        name: 'conformance.test.ts',
        status: 'failed',
        assertionResults: tests.map(([title, status, failure]) => ({
          ancestorTitles: ['conformance of pg', 'PostgreSQL 18, read committed'],
          title,
          status,
          ...(failure === undefined ? {} : { failureMessages: [failure] }),
        })),
      },
    ],
  })
  const other = ['F9: something else', 'failed', 'AssertionError: no'] as const

  test('is caught by a failed assertion of a rule that it breaks', () => {
    const caught = report(['F1: a', 'passed'], ['F2, fault 3: b', 'failed', 'AssertionError: expected 1 to be 2'])
    expect(judge(caught, 'pg', ['fault 3'])).toEqual({ status: 'caught', test: 'F2, fault 3: b' })
  })

  test('is survived where only another rule failed', () => {
    expect(judge(report(['F1: a', 'passed'], [...other]), 'pg', ['F1'])).toMatchObject({ status: 'survived' })
  })

  test.each(['Error: STACK_TRACE_ERROR', 'TypeError: x is not a function', 'ReferenceError: x is not defined'])(
    'is none where the test failed with %s',
    (failure) => {
      expect(judge(report(['F1: a', 'failed', failure]), 'pg', ['F1'])).toMatchObject({ status: 'broken' })
    },
  )

  test('is none where no test of its rules ran, or the adapter is not there at all', () => {
    expect(judge(report(['F1: a', 'skipped'], [...other]), 'pg', ['F1'])).toMatchObject({ status: 'broken' })
    expect(judge(report(['F1: a', 'passed']), 'knex', ['F1'])).toMatchObject({ status: 'broken' })
  })

  test('knows the adapters, and which of them says that it does not promise a rule', () => {
    const clean = report(['F13: a', 'passed'], ['F13, fault 4: b', 'skipped'])
    expect(adaptersIn(clean)).toEqual(['pg'])
    expect(promisesLess(clean, 'pg', ['F13'])).toBe(true)
    expect(promisesLess(report(['F13: a', 'passed']), 'pg', ['F13'])).toBe(false)
  })

  test('looks at the tests that cite one of the rules, and at no others', () => {
    const pattern = new RegExp(testsOf(['F1', 'fault 4']))
    const inside = 'conformance of pg PostgreSQL 18 (embedded), read committed '
    for (const title of ['F1: a', 'F1, F2: a', 'F2, F1: a', 'F13, fault 4: a']) expect(inside + title).toMatch(pattern)
    for (const title of ['F12: F1 a', 'F2: a', 'fault 14: a', 'F2, F11: a']) expect(inside + title).not.toMatch(pattern)
  })
})
