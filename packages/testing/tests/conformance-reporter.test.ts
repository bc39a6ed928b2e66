import { afterEach, describe, expect, it, vi } from 'vitest'
import type { TestModule } from 'vitest/node'
import ConformanceReporter from '../src/conformance-reporter.js'

type Result = { state: 'passed' | 'failed' } | { state: 'skipped'; note?: string }

const passed: Result = { state: 'passed' }
const failed: Result = { state: 'failed' }
const filtered: Result = { state: 'skipped' }
const unsupported: Result = { state: 'skipped', note: 'the library hides it' }

/** A module of the run, as far as the reporter reads it. */
function module(...tests: readonly [adapter: string, name: string, result: Result][]): TestModule {
  const cases = tests.map(([adapter, name, result]) => ({
    fullName: `${adapter} > PostgreSQL 18, read committed > ${name}`,
    name,
    result: () => result,
  }))
  return { children: { allTests: () => cases } } as unknown as TestModule
}

/** What the reporter prints, line by line, without the blanks that make columns. */
function print(...modules: readonly TestModule[]): string[] {
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  new ConformanceReporter().onTestRunEnd(modules)
  return log.mock.calls
    .flat()
    .join('\n')
    .split('\n')
    .map((line) => line.trim().replace(/ +/g, ' '))
    .filter((line) => line !== '')
}

describe('the matrix of adapters and rules', () => {
  afterEach(() => vi.restoreAllMocks())
  const pg = 'conformance of pg'
  const knex = 'conformance of Knex'

  it('has a row for each rule that a title cites, and a column for each adapter', () => {
    const lines = print(
      module([pg, 'F2, fault 1: a', passed], [pg, 'F12: b', passed]),
      module([knex, 'F2: a: with a colon', passed]),
    )
    expect(lines.slice(1)).toEqual(['Knex pg', 'F2 + +', 'F12 +', 'fault 1 +'])
  })

  it('shows the worst of a rule’s tests', () => {
    const lines = print(
      module(
        [pg, 'F1: a', passed],
        [pg, 'F1: b', failed],
        [pg, 'F1: c', unsupported],
        [pg, 'F2: a', passed],
        [pg, 'F2: b', filtered],
      ),
    )
    expect(lines.slice(2, 4)).toEqual(['F1 FAILED', 'F2 ?'])
  })

  it('tells what is held in part from what is not supported, and gives the reason once', () => {
    const lines = print(
      module([pg, 'F1: a', passed], [pg, 'F1, fault 4: b', unsupported], [pg, 'F3, fault 4: c', unsupported]),
    )
    expect(lines.slice(2)).toEqual(['F1 part', 'F3 no', 'fault 4 no', 'pg, F1, F3, fault 4: the library hides it'])
  })

  it('prints nothing where the suite did not run', () => {
    expect(print(module(['another suite', 'F1: a', passed]))).toEqual([])
  })
})
