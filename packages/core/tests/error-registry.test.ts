import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { type FenceErrorCode, fenceErrorCodes } from '../src/index.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

interface DocumentedError {
  readonly code: string
  readonly what: string
  readonly outcomes: readonly string[]
  readonly next: string
}

/** The rows of the reference page: one for each code. */
const documented: DocumentedError[] = read('docs/reference/errors.md')
  .split('\n')
  .filter((line) => /^\| `(FENCE|TICKET)_/.test(line))
  .map((line) => {
    const [code = '', what = '', outcome = '', next = ''] = line.split('|').slice(1, 5)
    const outcomes = [...outcome.matchAll(/`([\w-]+)`/g)].map((match) => match[1] as string)
    return { code: code.trim().slice(1, -1), what: what.trim(), outcomes, next: next.trim() }
  })

/** The codes of the list in the docstring of a source file. */
function docstringCodes(path: string): string[] {
  return [...read(path).matchAll(/^ \* - `(\w+)`: \S/gm)].map((match) => match[1] as string)
}

/** Every outcome that some source gives to a code when it makes the error. */
function thrownOutcomes(): Map<string, Set<string>> {
  const outcomes = new Map<string, Set<string>>()
  const packages = readdirSync(join(root, 'packages'))
  const sources = packages.flatMap((name) =>
    readdirSync(join(root, 'packages', name, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join('packages', name, 'src', file)),
  )
  for (const source of sources) {
    const made = read(source).matchAll(/'((?:FENCE|TICKET)_\w+)',\s*(?:\w+ \? '([\w-]+)' : )?'([\w-]+)',/g)
    for (const [, code = '', ...words] of made) {
      const known = words.filter((word) => ['not-executed', 'unknown', 'executed'].includes(word))
      if (known.length > 0) outcomes.set(code, new Set([...(outcomes.get(code) ?? []), ...known]))
    }
  }
  return outcomes
}

const fenceRows = documented.filter(({ code }) => code.startsWith('FENCE_'))
const ticketRows = documented.filter(({ code }) => code.startsWith('TICKET_'))

describe('the registry of errors', () => {
  test('F2: the codes of the fence are the same in the list, its docstring and the reference, in the same order', () => {
    expect(fenceErrorCodes.length).toBeGreaterThan(0)
    expect(docstringCodes('packages/core/src/fence-errors.ts')).toEqual([...fenceErrorCodes])
    expect(fenceRows.map(({ code }) => code)).toEqual([...fenceErrorCodes])
  })

  test('C3: the codes of the client are the same in its type, its docstring and the reference, in the same order', () => {
    const path = 'packages/client/src/ticket-errors.ts'
    const typed = [...read(path).matchAll(/^ {2}\| '(TICKET_\w+)'$/gm)].map((match) => match[1])
    expect(typed.length).toBeGreaterThan(0)
    expect(docstringCodes(path)).toEqual(typed)
    expect(ticketRows.map(({ code }) => code)).toEqual(typed)
  })

  test('F6: each row says what happened, what was done and what to do next', () => {
    for (const { code, what, outcomes, next } of documented) {
      expect(what, code).toMatch(/\.$/)
      expect(next, code).toMatch(/\.$/)
      expect(outcomes.length, code).toBeGreaterThan(0)
    }
  })

  test('F6: the outcomes of the reference are those that the sources give, both ways', () => {
    const thrown = thrownOutcomes()
    expect(thrown.get('FENCE_COMMIT_UNKNOWN')).toEqual(new Set(['unknown']))
    expect(thrown.get('TICKET_CANCELLED')).toEqual(new Set(['unknown', 'not-executed']))
    for (const { code, outcomes } of documented) {
      const inSources = thrown.get(code)
      if (inSources !== undefined) expect([...inSources].sort(), code).toEqual([...outcomes].sort())
      // Made elsewhere: by a function that is given the code, or not yet at all.
      else expect(outcomes, code).toHaveLength(1)
    }
    for (const code of thrown.keys()) expect(documented.map((row) => row.code)).toContain(code)
  })

  test('F2: a code that nothing throws says so', () => {
    const thrown = thrownOutcomes()
    const unthrown = fenceRows.filter(({ code }) => !thrown.has(code))
    const marked = fenceRows.filter(({ what }) => what.includes('nothing in this version throws it'))
    expect(marked).toEqual(unthrown)
  })

  test('F2: the type of a code is the list', () => {
    expectTypeOf<FenceErrorCode>().toEqualTypeOf<(typeof fenceErrorCodes)[number]>()
    expect(new Set(fenceErrorCodes).size).toBe(fenceErrorCodes.length)
  })
})
