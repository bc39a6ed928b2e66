import { readdir } from 'node:fs/promises'
import { startServer } from '@ticketing/server'
import { createDatabase } from '@ticketing/testing'
import { databaseTargets } from '@ticketing/testing/vitest'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { DemoRun, temporaryDirectory } from './support/demo-run.js'

/** The figure after a name in the demo's account. */
function figure(output: string, name: string): string {
  return new RegExp(`^  ${name} +(.*)$`, 'm').exec(output)?.[1] ?? `no line "${name}"`
}

/** The names of a timeline's events, in the order in which they are told. */
function events(output: string, holder: number): string[] {
  const story = output.split(/^Holder \d.*$/m)[holder]?.split('\n\n')[0] ?? ''
  return [...story.matchAll(/^ +\d+\.\d{3} s {2}(\w+(?: \w+)?)/gm)].map((match) => match[1] ?? '')
}

describe.each(databaseTargets())('the demo on $name', (target) => {
  test('F2 F4: both stopped holders are refused, all adds up, and nothing but its schema is touched', async () => {
    await using database = await createDatabase(target)
    await using run = new DemoRun(['--seconds', '1', '--seed', '7', '--database-url', database.url])
    expect(await run.exit(), run.output + run.errors).toBe(0)

    expect(events(run.output, 1)).toEqual([
      'granted',
      'stopped',
      'lease over',
      'next holder',
      'committed',
      'woken',
      'refused',
    ])
    expect(run.output).toMatch(
      /refused +FENCE_STALE_TOKEN: token (\d+) is not above the stored high-water \d+ of bank:\d+/,
    )
    const told = events(run.output, 2)
    expect(told.filter((name) => name !== 'rolled back' && name !== 'lease over')).toEqual([
      'granted',
      'stopped',
      'next holder',
      'committed',
      'woken',
      'refused',
    ])
    expect(told.filter((name) => name === 'rolled back' || name === 'lease over').sort()).toEqual([
      'lease over',
      'rolled back',
    ])
    expect(run.output).toMatch(/refused +FENCE_LEASE_EXPIRED: its writes are gone/)

    const client = new pg.Client(database.url)
    await client.connect()
    try {
      const { rows: schemas } = await client.query(
        "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname NOT IN ('public', 'information_schema')",
      )
      expect(schemas).toEqual([{ nspname: 'ticketing_bank_demo' }])
      const { rows } = await client.query('SELECT count(*)::integer / 2 AS transfers FROM ticketing_bank_demo.ledger')
      const sections = Number(figure(run.output, 'sections done').split(',')[0])
      expect(sections).toBeGreaterThan(2)
      expect(rows).toEqual([{ transfers: sections }])
    } finally {
      await client.end()
    }
    expect(figure(run.output, 'refused')).toMatch(/FENCE_STALE_TOKEN 1\b/)
    expect(figure(run.output, 'refused')).toMatch(/FENCE_LEASE_EXPIRED 1\b/)
    expect(figure(run.output, 'sum before')).toBe('40,000.00')
    expect(figure(run.output, 'sum after')).toBe('40,000.00  ok')
    expect(figure(run.output, 'balances')).toBe('40 of 40 equal to their ledger  ok')
    expect(figure(run.output, 'stale writes')).toBe('0  ok')
    expect(figure(run.output, 'lost updates')).toBe('0  ok')
  })
})

const [target] = databaseTargets()

describe('the demo', () => {
  test('without the fence it shows the lost update, row by row, and exits with 1', async () => {
    await using database = await createDatabase({ url: target?.url ?? '' })
    await using run = new DemoRun(['--unfenced', '--seconds', '1', '--database-url', database.url])
    expect(await run.exit(), run.output + run.errors).toBe(1)
    expect(events(run.output, 1)).toEqual([
      'granted',
      'stopped',
      'lease over',
      'next holder',
      'committed',
      'woken',
      'committed',
    ])
    expect(figure(run.output, 'stale writes')).toMatch(/^[12] {2}WRONG$/)
    expect(figure(run.output, 'lost updates')).toMatch(/^\d+ {2}WRONG$/)
    expect(run.output).toMatch(/ledger row \d+ \(token \d+\) wrote [\d,.]+, without .*\d+: a change of -?[\d,.]+ lost/)
    expect(run.output).toMatch(/It does not add up\.\n$/)
  })

  test('interrupted while a holder is stopped, it exits with 130 and leaves no process and no file', async () => {
    await using temporary = await temporaryDirectory()
    await using run = new DemoRun([], { TMPDIR: temporary.path })
    await run.wrote(/holder 1 stopped/)
    run.signal('SIGINT')
    expect(await run.exit(), run.output + run.errors).toBe(130)
    await run.gone()
    expect(await readdir(temporary.path)).toEqual([])
  })

  test('killed while a holder is stopped, it leaves no process', async () => {
    await using database = await createDatabase({ url: target?.url ?? '' })
    await using run = new DemoRun(['--database-url', database.url])
    await run.wrote(/holder 1 stopped/)
    run.signal('SIGKILL')
    await run.gone()
    expect(await run.exit()).toBe(null)
  })

  test('it uses a given server with its client token, and the database alone', async () => {
    await using database = await createDatabase({ url: target?.url ?? '' })
    await using server = await startServer({ listen: '127.0.0.1:0', clientTokens: ['right'] })
    const given = ['--seconds', '1', '--database-url', database.url, '--server', server.address]
    await using run = new DemoRun([...given, '--client-token', 'right'])
    await run.wrote(/\d sections/)
    expect(figure(run.output, 'lock service')).toBe(`${server.address}, as given`)

    await using wrongToken = new DemoRun([...given, '--client-token', 'wrong'])
    await using second = new DemoRun([...given, '--client-token', 'right'])
    expect(await wrongToken.exit()).toBe(3)
    expect(wrongToken.errors).toMatch(/^error: The lock service cannot be used, so nothing was run: /)
    expect(await second.exit()).toBe(3)
    expect(second.errors).toMatch(/^error: Another run of this demo is using the schema ticketing_bank_demo/)
    expect(await run.exit(), run.output + run.errors).toBe(0)
  })
})

describe('the command line', () => {
  test.each([
    [['--seconds', '0'], /'--seconds <n>' argument '0' is invalid\. It must be a whole number from 1 to 600\./],
    [['--seconds', '1.5'], /whole number from 1 to 600/],
    [['--workers', '7'], /'--workers <n>' argument '7' is invalid\. It must be a whole number from 8 to 64\./],
    [['--accounts', '7'], /whole number from 8 to 10000/],
    [['--seed', '-1'], /whole number from 0 to 2147483647/],
    [['--database-url', 'localhost'], /It must be a URL such as postgresql:/],
    [['--server', '127.0.0.1:5225,nowhere'], /not "nowhere"/],
    [['--quick'], /unknown option '--quick'/],
    [['now'], /too many arguments/],
  ])('%j is refused with exit code 2, and nothing is run', async (args, message) => {
    await using run = new DemoRun(args)
    expect(await run.exit()).toBe(2)
    expect(run.errors).toMatch(message)
    expect(run.output).toBe('')
  })

  test('--help names every option and exit code', async () => {
    await using run = new DemoRun(['--help'])
    expect(await run.exit()).toBe(0)
    for (const option of [
      'seconds',
      'workers',
      'accounts',
      'seed',
      'unfenced',
      'database-url',
      'server',
      'client-token',
    ]) {
      expect(run.output).toContain(`--${option}`)
    }
    expect(run.output).toContain('Exit codes:')
  })

  test('a database that is not there: exit code 3, and the reason', async () => {
    await using run = new DemoRun(['--database-url', 'postgresql://127.0.0.1:1/none'])
    expect(await run.exit()).toBe(3)
    expect(run.errors).toBe(
      'error: The database cannot be used, so nothing was run: connect ECONNREFUSED 127.0.0.1:1.\n',
    )
  })
})
