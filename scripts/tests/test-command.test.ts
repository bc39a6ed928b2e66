import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { describeMissing, missingServices, type Service, services } from '../lib/services.mjs'
import { Workspace } from './support/workspace.js'

const fakeVitest = `
  console.log(JSON.stringify(process.argv.slice(2)))
  process.exit(Number(process.env.FAKE_CODE ?? 0))
`

let workspace: Workspace

beforeEach(() => {
  workspace = new Workspace()
  workspace.write('node_modules/vitest/vitest.mjs', fakeVitest)
  offer("{ status: 'found' }")
})

afterEach(() => workspace[Symbol.dispose]())

/** What the built testing package says about the given PostgreSQL. */
function offer(given: string): void {
  workspace.write(
    'packages/testing/dist/index.mjs',
    `export const findEmbeddedPostgres = async () => ({ status: 'found' })
     export const findGivenPostgres = async () => (${given})`,
  )
}

describe('npm test: the run', () => {
  test('hands its arguments to Vitest and gives its exit code', async () => {
    const result = await workspace.run('test', ['packages/pg', '-t', 'F1: a b'], { FAKE_CODE: '4' })
    expect(result.code).toBe(4)
    expect(JSON.parse(result.stdout.split('\n')[0] ?? '')).toEqual(['run', 'packages/pg', '-t', 'F1: a b'])
  })

  test('says that nothing was missing', async () => {
    const { code, stdout } = await workspace.run('test', ['--require-services'])
    expect(code).toBe(0)
    expect(stdout).toBe('["run"]\n\nServices: all that the tests can use were there.\n')
  })
})

describe('npm test: a missing service', () => {
  beforeEach(() => offer("{ status: 'missing', reason: 'connect ECONNREFUSED 127.0.0.1:5432' }"))

  test('is listed after the run, with the reason, what was not tested, and how to get it', async () => {
    const { code, stdout } = await workspace.run('test')
    expect(code).toBe(0)
    const [run, ...list] = stdout.split('\n\n')
    expect(run).toBe('["run"]')
    expect(list.join('\n\n')).toMatch(
      /^Services that were missing:\n- PostgreSQL \(given\): connect ECONNREFUSED 127\.0\.0\.1:5432\n {2}Not tested: .*\n {2}Start .*TICKETING_PG_URL=/,
    )
  })

  test('does not hide that tests failed', async () => {
    expect(await workspace.run('test', [], { FAKE_CODE: '1' })).toMatchObject({ code: 1 })
  })

  test.each([
    ['--require-services', ['--require-services'], {}],
    ['TICKETING_REQUIRE_SERVICES=1', [], { TICKETING_REQUIRE_SERVICES: '1' }],
  ])('with %s no test is run', async (_, args, env) => {
    const { code, stdout, stderr } = await workspace.run('test', args, env)
    expect(code).toBe(1)
    expect(stdout).toBe('')
    expect(stderr).toMatch(/No test was run, because services are missing/)
    expect(stderr).toMatch(/- PostgreSQL \(given\): connect ECONNREFUSED 127\.0\.0\.1:5432/)
  })
})

describe('npm test: the table of services', () => {
  const entry = (name: string, reason?: string): Service => ({
    name,
    untested: `what needs ${name}`,
    remedy: `get ${name}`,
    look: async () => (reason === undefined ? { status: 'found' } : { status: 'missing', reason }),
  })

  test('gives the missing ones in its own order', async () => {
    const missing = await missingServices('', [entry('a', 'gone'), entry('b'), entry('c', 'never there')])
    expect(missing.map(({ name, reason }) => [name, reason])).toEqual([
      ['a', 'gone'],
      ['c', 'never there'],
    ])
    expect(describeMissing(missing)).toBe(
      'Services that were missing:\n' +
        '- a: gone\n  Not tested: what needs a.\n  get a\n' +
        '- c: never there\n  Not tested: what needs c.\n  get c\n',
    )
  })

  test('says of each service what is not tested without it and how to get it', () => {
    expect(services.length).toBeGreaterThan(0)
    for (const { untested, remedy } of services) {
      expect(untested).toMatch(/\w/)
      expect(remedy).toMatch(/\w/)
    }
  })
})
