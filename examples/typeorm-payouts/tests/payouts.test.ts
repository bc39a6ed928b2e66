import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createDatabase, type DatabaseTarget } from '@ticketing/testing'
import { databaseTargets } from '@ticketing/testing/vitest'
import { describe, expect, it } from 'vitest'

const example = fileURLToPath(new URL('..', import.meta.url))
/** Ends a jest that a connection left open keeps alive. */
const millisecondsMax = 60_000
const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  promisify(execFile)(process.execPath, args, {
    cwd: example,
    env: { ...process.env, ...env },
    timeout: millisecondsMax,
  })

describe('the payouts', () => {
  it('pass their own tests, under jest and as CommonJS', async () => {
    await using database = await createDatabase(databaseTargets()[0] as DatabaseTarget)
    const jest = createRequire(import.meta.url).resolve('jest/bin/jest')
    const { stdout } = await run([jest, '--json', '--ci', '--runInBand'], { DATABASE_URL: database.url })
    expect(JSON.parse(stdout)).toMatchObject({ success: true, numTotalTests: 7, numPassedTests: 7, openHandles: [] })
  }, 90_000)
})

describe('the program', () => {
  it('shows that the money adds up', async () => {
    const { stdout } = await run(['dist/main.js'])
    expect(stdout).toMatch(/^payout slow: +refused, FENCE_LEASE_EXPIRED: nothing of it was written$/m)
    expect(stdout).toMatch(/^the books: +60 left \+ 40 paid out of 100: ok$/m)
  })

  it('shows without the fence that it does not, and exits with 1', async () => {
    await expect(run(['dist/main.js', '--unfenced'])).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^the books: +70 left \+ 70 paid out of 100: WRONG$/m),
    })
  })
})
