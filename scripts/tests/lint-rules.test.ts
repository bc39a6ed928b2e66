import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { ESLint } from 'eslint'
import { describe, expect, test } from 'vitest'
import { packages } from '../lint/shells.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const eslint = new ESLint({ cwd: root })

/** A deciding part and a leaf shell, whose texts the tests replace. */
const pure = 'packages/protocol/src/limits.ts'
const shell = 'packages/server/src/clock.ts'

/** The rules that a text breaks when it stands in that file. */
async function broken(file: string, text: string): Promise<(string | null)[]> {
  const results = await eslint.lintText(text, { filePath: `${root}${file}` })
  return results.flatMap((result) => result.messages.map((message) => message.ruleId))
}

const imports = '@typescript-eslint/no-restricted-imports'

describe('lint: effects belong into leaf shells', () => {
  test.each([
    ['Date.now', 'export const now = Date.now()', 'no-restricted-properties'],
    ['Date.now as a value', 'export const now = Date.now', 'no-restricted-properties'],
    ['new Date()', 'export const now = new Date()', 'no-restricted-syntax'],
    ['performance.now', 'export const now = performance.now()', 'no-restricted-properties'],
    ['performance.now taken out', 'export const { now } = performance', 'no-restricted-properties'],
    ['process.hrtime', 'export const now = process.hrtime.bigint()', 'no-restricted-properties'],
    ['Math.random', 'export const dice = Math.random()', 'no-restricted-properties'],
    ['setTimeout', 'setTimeout(() => {}, 1)', 'no-restricted-globals'],
    ['setInterval', 'setInterval(() => {}, 1)', 'no-restricted-globals'],
    ['setImmediate', 'setImmediate(() => {})', 'no-restricted-globals'],
    ['globalThis.setTimeout', 'globalThis.setTimeout(() => {}, 1)', 'no-restricted-globals'],
    ['console', "console.log('here')", 'no-restricted-globals'],
    ['process.stdout', "process.stdout.write('here')", 'no-restricted-properties'],
    ['node:net', "export { connect } from 'node:net'", imports],
    ['node:tls', "import { connect } from 'node:tls'\nexport const open = connect", imports],
    ['timers/promises', "import { setTimeout } from 'node:timers/promises'\nexport const wait = setTimeout", imports],
  ])('%s is refused in a deciding part', async (_, text, rule) => {
    expect(await broken(pure, text)).toEqual([rule])
  })

  test('a leaf shell may do what it is listed with, and nothing else', async () => {
    expect(packages['server']?.shells['clock.ts']).toEqual(['clock', 'timers'])
    expect(await broken(shell, 'setTimeout(() => {}, performance.now())')).toEqual([])
    expect(await broken(shell, 'export const dice = Math.random()')).toEqual(['no-restricted-properties'])
    expect(await broken(shell, "export { connect } from 'node:net'")).toEqual([imports])
  })

  test('types, dates of a given time, and what is neither have no effect', async () => {
    expect(await broken(pure, "import type { Socket } from 'node:net'\nexport type Wire = Socket")).toEqual([])
    expect(await broken(pure, 'export const then = new Date(0)')).toEqual([])
    expect(await broken(pure, 'export const most = Math.max(1, 2)')).toEqual([])
  })

  test('tests and scripts are exempt', async () => {
    const text = "import 'node:net'\nexport const now = Date.now() + Math.random()\nconsole.log(now)\n"
    expect(await broken('scripts/tests/lint-rules.test.ts', text)).toEqual([])
  })
})

describe('lint: imports point one way', () => {
  test.each([
    ['packages/protocol/src/limits.ts', '@ticketing/client', false],
    ['packages/client/src/ticket.ts', '@ticketing/protocol', true],
    ['packages/client/src/ticket.ts', '@ticketing/core', false],
    ['packages/client/src/ticket.ts', '@ticketing/server', false],
    ['packages/core/src/fence.ts', '@ticketing/client', true],
    ['packages/core/src/fence.ts', '@ticketing/pg', false],
    ['packages/core/src/fence.ts', '@ticketing/server', false],
    ['packages/server/src/config.ts', '@ticketing/protocol', true],
    ['packages/server/src/config.ts', '@ticketing/client', false],
    ['packages/testing/src/free-port.ts', '@ticketing/client', true],
    ['packages/testing/src/free-port.ts', '@ticketing/server', false],
    ['packages/testing/src/free-port.ts', '@ticketing/pg', false],
  ])('%s → %s: %s', async (file, target, allowed) => {
    const rules = await broken(file, `export * from '${target}'`)
    if (allowed) expect(rules).toEqual([])
    else expect(rules).toContain(imports)
  })

  test('an entry of a package counts as the package', async () => {
    const rules = await broken('packages/protocol/src/limits.ts', "export * from '@ticketing/client/internal'")
    expect(rules).toContain(imports)
  })

  test('a relative path does not get around it', async () => {
    const text = "export * from '../../client/src/ticket.js'"
    expect(await broken('packages/protocol/src/limits.ts', text)).toContain('import-x/no-relative-packages')
  })

  test('a circle between files is refused', async () => {
    // key.ts imports limits.ts.
    expect(await broken('packages/protocol/src/limits.ts', "export * from './key.js'")).toContain('import-x/no-cycle')
  })

  test('AsyncLocalStorage belongs to nested-sections.ts', async () => {
    const text = "import { AsyncLocalStorage } from 'node:async_hooks'\nexport const context = new AsyncLocalStorage()"
    expect(await broken('packages/core/src/fence.ts', text)).toEqual([imports])
    expect(await broken('packages/core/src/nested-sections.ts', text)).toEqual([])
  })
})

describe('lint: promises, types and sizes', () => {
  test.each([
    ['a promise nobody waits for', 'export function go() {\n  work()\n}', '@typescript-eslint/no-floating-promises'],
    ['a promise as a condition', 'export const it = () => (work() ? 1 : 2)', '@typescript-eslint/no-misused-promises'],
    ['await of no promise', 'export const it = async () => await 1', '@typescript-eslint/await-thenable'],
    ['any', 'export type It = any', '@typescript-eslint/no-explicit-any'],
  ])('%s is refused', async (_, text, rule) => {
    expect(await broken(pure, `export async function work() {}\n${text}`)).toEqual([rule])
  })

  test('an import of types says so', async () => {
    const text = "import { WireError } from './wire-error.js'\nexport type Its = WireError"
    expect(await broken(pure, text)).toEqual(['@typescript-eslint/consistent-type-imports'])
  })

  test('a file has at most 300 lines', async () => {
    const lines = (count: number) => Array.from({ length: count }, (_, n) => `export const it${n} = ${n}\n`).join('')
    expect(await broken(pure, lines(300))).toEqual([])
    expect(await broken(pure, lines(301))).toEqual(['max-lines'])
  })

  test('a function has at most 70 lines', async () => {
    const lines = (count: number) => `export function it() {\n${'  void 0\n'.repeat(count - 2)}}\n`
    expect(await broken(pure, lines(70))).toEqual([])
    expect(await broken(pure, lines(71))).toEqual(['max-lines-per-function'])
  })
})

describe('lint: the list of leaf shells', () => {
  const shells = Object.entries(packages).flatMap(([name, { shells }]) =>
    Object.entries(shells).map(([file, effects]) => ({ name, file, effects })),
  )

  test('names every package, so that none is without rules', async () => {
    expect(Object.keys(packages).toSorted()).toEqual((await readdir(`${root}packages`)).toSorted())
  })

  test.each(shells)('$name/src/$file has exactly the effects it is listed with', async ({ name, file, effects }) => {
    const text = await readFile(`${root}packages/${name}/src/${file}`, 'utf8')
    // index.ts is never a shell, so every effect of the text is reported there.
    const [result] = await eslint.lintText(text, { filePath: `${root}packages/${name}/src/index.ts` })
    const found = result?.messages.flatMap(({ message }) => /Effect "(\w+)"/.exec(message)?.[1] ?? [])
    expect(new Set(found)).toEqual(new Set(effects))
  })
})
