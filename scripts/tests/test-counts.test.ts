import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startVitest } from 'vitest/node'
import { countsLine, countTests } from '../lib/test-counts.mjs'

test('the line names skipped tests only where there are any', () => {
  expect(countsLine({ passed: 12, failed: 0, skipped: 0 })).toBe('12 passed, 0 failed')
  expect(countsLine({ passed: 1, failed: 2, skipped: 3 })).toBe('1 passed, 2 failed, 3 skipped')
})

test('a report of Vitest is counted: passed, failed, skipped, todo, and files that could not be loaded', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'ticketing-counts-'))
  try {
    await writeFile(
      join(directory, 'some.test.js'),
      `test('a', () => {}); test('b', () => {}); test('c', () => { throw new Error('c') })
       test.skip('d', () => {}); test.todo('e')`,
    )
    await writeFile(join(directory, 'broken.test.js'), "throw new Error('not loaded')")
    await writeFile(
      join(directory, 'hook.test.js'),
      "beforeAll(() => { throw new Error('hook') }); test('f', () => {})",
    )
    const report = join(directory, 'report.json')
    const code = process.exitCode
    const vitest = await startVitest('test', [], {
      root: directory,
      config: false,
      watch: false,
      globals: true,
      reporters: ['json'],
      outputFile: report,
    })
    await vitest.close()
    // Its failures are meant; they must not become those of this run.
    process.exitCode = code
    const counts = countTests(JSON.parse(await readFile(report, 'utf8')))
    expect(counts).toEqual({ passed: 2, failed: 3, skipped: 3 })
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})
