import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { flagOf } from '../src/command-line.js'
import { type ConfigName, serverOptionTable } from '../src/config.js'
import { buildCli, runCli, startCli } from './built-cli.js'
import { RawClient } from './raw-client.js'

beforeAll(buildCli)

const anyPort = ['--listen', '127.0.0.1:0']
const { version } = createRequire(import.meta.url)('../package.json') as { version: string }

function fileWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'ticketing-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'tokens')
  writeFileSync(file, text)
  return file
}

function clientOf(address: string): RawClient {
  const client = new RawClient(address)
  onTestFinished(() => void client.socket.destroy())
  return client
}

describe('what it says', () => {
  it('--help names every option with its unit, range and default, and exits with 0', async () => {
    const { code, stdout, stderr } = await runCli(['--help'])
    expect([code, stderr]).toEqual([0, ''])
    const text = stdout.replace(/\s+/g, ' ')
    for (const [name, row] of Object.entries(serverOptionTable)) {
      expect(text).toContain(flagOf(name as ConfigName))
      expect(text).toContain(row.about)
      if (row.kind !== 'number') continue
      expect(text).toContain(`${row.min} to ${row.max} ${row.unit}; default ${row.default}`)
    }
    expect(text).toContain('127.0.0.1:5225')
    expect(text).toContain('--client-token-file')
    expect(text).toContain('TICKETING_CLIENT_TOKENS')
  })

  it('--version is that of the package', async () => {
    expect(await runCli(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })
})

describe('mistakes', () => {
  it.each<[string[], RegExp]>([
    [['--sessions-max', 'many'], /--sessions-max.*whole number of sessions from 1 to 1000000, not "many"/],
    [['--sessions-max', '0'], /--sessions-max.*from 1 to 1000000, not 0/],
    [['--idle-seconds', '1e3'], /--idle-seconds.*from 5 to 86400, not "1e3"/],
    [['--listen', '5225'], /--listen.*host:port.*"5225"/],
    [['--waiters-max', '9', '--waiters-per-key-max', '10'], /--waiters-per-key-max \(10\).*--waiters-max \(9\)/],
    [['--client-token', ''], /1 to 1024 bytes; number 1 has 0/],
    [['--client-token-file', '/nowhere/tokens'], /"\/nowhere\/tokens" cannot be read: ENOENT/],
    [['--sesions-max', '5'], /unknown option '--sesions-max'/],
    [['--listen'], /--listen.*argument missing/],
    [['serve'], /too many arguments/],
  ])('%j: a clear error, exit 2, nothing started', async (args, message) => {
    const { code, stdout, stderr } = await runCli([...anyPort, ...args])
    expect(stderr).toMatch(message)
    expect([code, stdout]).toEqual([2, ''])
  })

  it('sources of client tokens that hold none: exit 2, not a server that accepts everyone', async () => {
    const file = fileWith('\n \n')
    for (const run of [runCli(['--client-token-file', file]), runCli([], { TICKETING_CLIENT_TOKENS: ' , ' })]) {
      expect(await run).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('holds no token') })
    }
  })

  it('a secret is not shown, also not by a mistyped flag', async () => {
    const runs = [
      runCli([`--client-tokn=hush`]),
      runCli(['--client-token', 'hush'.repeat(300)]),
      runCli([], { TICKETING_CLIENT_TOKENS: 'hush'.repeat(300) }),
    ]
    for (const { code, stdout, stderr } of await Promise.all(runs)) {
      expect(code).toBe(2)
      expect(stdout + stderr).not.toContain('hush')
    }
  })

  it('a port in use: a clear error, exit 1', async () => {
    const { address } = await startCli(anyPort)
    const { code, stdout, stderr } = await runCli(['--listen', address])
    expect(stderr).toBe(
      `error: Cannot listen on ${address}: something else listens there already (EADDRINUSE). Stop it, or choose another port. No server was started.\n`,
    )
    expect([code, stdout]).toEqual([1, ''])
  })
})

describe('serving', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('%s: shutting_down to every session, exit 0 within 5 s', async (signal) => {
    const cli = await startCli(anyPort)
    const [client, queued] = [clientOf(cli.address), clientOf(cli.address)]
    await client.shakeHands()
    await queued.shakeHands()
    await client.take('k')
    queued.send(queued.request('k', 60))
    await queued.settle()
    const started = performance.now()
    cli.signal(signal)
    expect(await client.next()).toEqual({ type: 'error', reason: 'shutting_down' })
    expect(await queued.next()).toEqual({ type: 'error', reason: 'shutting_down' })
    const { code, stdout } = await cli.ended
    expect(performance.now() - started).toBeLessThan(5000)
    expect([code, stdout]).toEqual([0, `ticketing-server listens on ${cli.address}\n`])
  })

  it('client tokens of flags, a file and the environment are all valid, and none is printed', async () => {
    const file = fileWith('from-file\r\n\n also-from-file \n')
    const cli = await startCli(
      [...anyPort, '--client-token', 'flag,one', '--client-token', 'flag-two', '--client-token-file', file],
      { TICKETING_CLIENT_TOKENS: 'from-environment, and-another' },
    )
    const tokens = ['flag,one', 'flag-two', 'from-file', 'also-from-file', 'from-environment', 'and-another']
    for (const secret of tokens)
      expect(await clientOf(cli.address).shakeHands(secret)).toMatchObject({ type: 'leader' })
    expect(await clientOf(cli.address).shakeHands('')).toEqual({ type: 'error', reason: 'auth_failed' })
    cli.signal('SIGTERM')
    const { stdout, stderr } = await cli.ended
    for (const secret of tokens) expect(stdout + stderr).not.toContain(secret)
  })

  it('limits given as flags hold', async () => {
    const cli = await startCli([...anyPort, '--keys-max', '1', '--sessions-max', '1'])
    const client = clientOf(cli.address)
    await client.shakeHands()
    await client.take('k')
    client.send(client.request('other'))
    expect(await client.next()).toMatchObject({ type: 'busy', key: 'other' })
    expect(await clientOf(cli.address).greeting()).toBe('Etoo_many_sessions')
  })

  it('without client tokens on an address that others can reach: one warning', async () => {
    const cli = await startCli(['--listen', '0.0.0.0:0'])
    cli.signal('SIGTERM')
    const { stderr } = await cli.ended
    const warnings = stderr.split('\n').filter((line) => line.includes('"level":40'))
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('no client tokens')
  })
})
