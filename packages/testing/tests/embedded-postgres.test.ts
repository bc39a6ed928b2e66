import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { withClient } from '../src/database-fixture.js'
import { startEmbeddedPostgres } from '../src/embedded-postgres.js'
import { portIsFree } from '../src/free-port.js'

const isRoot = process.getuid?.() === 0
const onLinux = process.platform === 'linux'

async function setting(url: string, name: string): Promise<unknown> {
  const result = await withClient(url, (client) => client.query('SELECT current_setting($1) AS value', [name]))
  return result.rows[0].value
}

async function sleepers(url: string): Promise<unknown> {
  const sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
  return (await withClient(url, (client) => client.query(sql))).rows[0].count
}

describe('a server of its own', () => {
  test('has the settings that the tests of this repository need', async () => {
    await using server = await startEmbeddedPostgres()
    expect(server).toMatchObject({ name: 'PostgreSQL 18 (embedded)', major: 18 })
    expect(await setting(server.url, 'server_version_num')).toMatch(/^18\d{4}$/)
    expect(await setting(server.url, 'fsync')).toBe('on')
    expect(Number(await setting(server.url, 'max_connections'))).toBeGreaterThanOrEqual(200)
    expect(Number(await setting(server.url, 'max_prepared_transactions'))).toBeGreaterThan(0)
    expect(await setting(server.url, 'server_encoding')).toBe('UTF8')
    expect(await setting(server.url, 'listen_addresses')).toBe('127.0.0.1')
  })

  test('takes settings of the caller', async () => {
    await using server = await startEmbeddedPostgres({ settings: { fsync: 'off', max_connections: '7' } })
    expect(await setting(server.url, 'fsync')).toBe('off')
    expect(await setting(server.url, 'max_connections')).toBe('7')
  })

  test('leaves nothing behind when it is stopped, and may be stopped again', async () => {
    const server = await startEmbeddedPostgres()
    expect(existsSync(server.directory)).toBe(true)
    await Promise.all([server.stop(), server.stop()])
    await server.stop()
    expect(existsSync(server.directory)).toBe(false)
    expect(await portIsFree(Number(new URL(server.url).port))).toBe(true)
    expect(isRunning(server.guardId)).toBe(false)
  })

  test('is stopped although a session is open', async () => {
    const server = await startEmbeddedPostgres()
    const client = new pg.Client(server.url)
    client.on('error', () => {})
    await client.connect()
    const refused = expect(client.query('SELECT pg_sleep(600)')).rejects.toMatchObject({ code: '57P01' })
    await vi.waitFor(async () => expect(await sleepers(server.url)).toBe('1'))
    await server.stop()
    await refused
    expect(await portIsFree(Number(new URL(server.url).port))).toBe(true)
  })

  test('removes its directory also when the server had ended by itself', async () => {
    const server = await startEmbeddedPostgres()
    const postmaster = await readFile(`${server.directory}/data/postmaster.pid`, 'utf8')
    process.kill(Number(postmaster.split('\n')[0]), 'SIGQUIT')
    await vi.waitFor(() => expect(isRunning(server.guardId)).toBe(false), { timeout: 20_000 })
    expect(existsSync(server.directory)).toBe(true)
    await server.stop()
    expect(existsSync(server.directory)).toBe(false)
  })

  test.runIf(isRoot && onLinux)('runs as nobody when it is started by root', async () => {
    await using server = await startEmbeddedPostgres()
    const backend = await withClient(server.url, async (client) => {
      const { rows } = await client.query('SELECT pg_backend_pid() AS id')
      return readFile(`/proc/${rows[0].id}/status`, 'utf8')
    })
    const nobody = /^nobody:[^:]*:(\d+):/m.exec(await readFile('/etc/passwd', 'utf8'))?.[1]
    expect(backend).toMatch(new RegExp(`^Uid:\\s+${nobody}\\s+${nobody}\\s`, 'm'))
  })
})

describe('a refusal', () => {
  test('names an unknown option', async () => {
    // @ts-expect-error the option does not exist
    await expect(startEmbeddedPostgres({ port: 5432 })).rejects.toThrow(/no option "port"/)
  })

  test('names a setting that cannot be one', async () => {
    await expect(startEmbeddedPostgres({ settings: { 'fsync=off -c x': 'y' } })).rejects.toThrow(/"fsync=off -c x"/)
  })

  test('shows what the server said, and removes the directory', async () => {
    const failure = await startEmbeddedPostgres({ settings: { max_connections: 'plenty' } }).catch((error) => error)
    expect(failure).toMatchObject({ name: 'EmbeddedPostgresError', code: 'START_FAILED' })
    expect(failure.message).toMatch(/invalid value for parameter "max_connections": "plenty"/)
  })
})

describe('the end of the process that started it', () => {
  test.each([
    ['SIGKILL', []],
    ['SIGTERM', []],
    ['process.exit', ['--finish']],
  ] as const)('ends the server: %s', async (how, args) => {
    const { child, server } = await startInChild(args)
    const exited = once(child, 'exit')
    if (how !== 'process.exit') child.kill(how)
    await exited
    const gone = () => {
      expect(isRunning(server.guardId)).toBe(false)
      expect(existsSync(server.directory)).toBe(false)
    }
    await vi.waitFor(gone, { timeout: 20_000 })
    expect(await portIsFree(Number(new URL(server.url).port))).toBe(true)
  })
})

interface Started {
  readonly url: string
  readonly directory: string
  readonly guardId: number
}

async function startInChild(args: readonly string[]): Promise<{ child: ChildProcess; server: Started }> {
  const path = (name: string) => fileURLToPath(new URL(`support/${name}`, import.meta.url))
  const child = spawn(process.execPath, [path('run-source.mjs'), path('embedded-postgres-parent.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface(child.stdout), 'line')
  return { child, server: JSON.parse(String(line)) as Started }
}

function isRunning(id: number): boolean {
  try {
    process.kill(id, 0)
    return true
  } catch {
    return false
  }
}
