import { execFile } from 'node:child_process'
import { chmod, chown, mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { DatabaseTarget } from './database-fixture.js'
import { EmbeddedPostgresError } from './embedded-postgres-error.js'
import { freePort, portIsFree } from './free-port.js'
import { GuardedPostgres } from './guarded-postgres.js'
import { type PostgresPrograms, packagedPrograms, reachablePrograms } from './postgres-programs.js'
import { canReach, type ServerAccount, serverAccount } from './server-account.js'

/** How an embedded PostgreSQL is started. */
export interface EmbeddedPostgresOptions {
  /**
   * Settings of the server that replace or join the defaults: `listen_addresses = 127.0.0.1`, no Unix socket,
   * `max_connections = 200`, `max_prepared_transactions = 50`, `fsync = on`, `TimeZone = UTC`.
   */
  readonly settings?: Readonly<Record<string, string>>
}

/** A running PostgreSQL of its own, empty, on a free port of 127.0.0.1; everybody on this machine may connect to it. */
export interface EmbeddedPostgres extends DatabaseTarget, AsyncDisposable {
  /** Where its data lie until it is stopped. */
  readonly directory: string
  /** Process id of its guard; the server is the guard's child. */
  readonly guardId: number
  /** Ends all sessions, stops the server and removes its data. May be called again. */
  stop(): Promise<void>
}

/** Some steps give up after this long: a machine that swaps can be slow, but not that slow. */
const startSecondsMax = 60
const portAttemptsMax = 5
const logBytesShownMax = 2_000
const major = 18

const defaultSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  max_prepared_transactions: '50',
  fsync: 'on',
  TimeZone: 'UTC',
}

/**
 * Starts PostgreSQL 18 from an npm package. It needs no installation and no rights; root runs it as `nobody`.
 *
 * The server ends with `stop`, with `await using`, or with this process, whichever comes first, SIGKILL included.
 *
 * @throws {TypeError} for an unknown option or a setting whose name is none.
 * @throws {EmbeddedPostgresError} when it cannot be started; nothing is left behind.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions = {}): Promise<EmbeddedPostgres> {
  const settings = { ...defaultSettings, ...checkedSettings(options) }
  const packaged = await packagedPrograms()
  const account = await serverAccount()
  const directory = await makeDirectory(account)
  try {
    const programs = await reachablePrograms(packaged, account, directory)
    const site: Site = {
      directory,
      data: join(directory, 'data'),
      log: join(directory, 'postgres.log'),
      programs,
      account,
    }
    await initialise(site)
    const { server, port } = await startOnFreePort(site, settings)
    return embeddedPostgres(site, server, port)
  } catch (error) {
    await remove(directory)
    throw error
  }
}

/** Whether this machine has the package with the embedded PostgreSQL, or why not. */
export async function findEmbeddedPostgres(): Promise<
  { readonly status: 'found' } | { readonly status: 'missing'; readonly reason: string }
> {
  try {
    await packagedPrograms()
    return { status: 'found' }
  } catch (error) {
    if (!(error instanceof EmbeddedPostgresError)) throw error
    return { status: 'missing', reason: error.message }
  }
}

interface Site {
  readonly directory: string
  readonly data: string
  readonly log: string
  readonly programs: PostgresPrograms
  readonly account: ServerAccount | undefined
}

function checkedSettings(options: EmbeddedPostgresOptions): Readonly<Record<string, string>> {
  for (const name of Object.keys(options)) {
    if (name !== 'settings') throw new TypeError(`startEmbeddedPostgres has no option "${name}"; it has "settings".`)
  }
  const settings = options.settings ?? {}
  for (const name of Object.keys(settings)) {
    if (!/^[a-z_][a-z0-9_.]*$/i.test(name))
      throw new TypeError(`settings: "${name}" is no name of a PostgreSQL setting.`)
  }
  return settings
}

/** A new directory that belongs to the server's account, below one that this account can reach. */
async function makeDirectory(account: ServerAccount | undefined): Promise<string> {
  const places = account ? [tmpdir(), '/tmp', '/var/tmp'] : [tmpdir()]
  for (const place of places) {
    const parent = await realpath(place).catch(() => undefined)
    if (parent === undefined || !(await canReach(account, parent))) continue
    const directory = await mkdtemp(join(parent, 'ticketing-postgres-'))
    if (account) await chown(directory, account.uid, account.gid)
    await chmod(directory, 0o700)
    return directory
  }
  throw new EmbeddedPostgresError(
    'NO_DIRECTORY',
    `The embedded PostgreSQL was not started: this process is root, so it would run as uid ${account?.uid}, and that ` +
      `account can reach none of ${places.join(', ')}. Set TMPDIR to a directory that everybody can reach.`,
  )
}

async function initialise(site: Site): Promise<void> {
  const args = [
    ...['--pgdata', site.data, '--username', 'postgres', '--auth', 'trust'],
    // The same on every machine; and the data are not worth a wait for the disk before the server even runs.
    ...['--encoding', 'UTF8', '--no-locale', '--no-sync', '--no-instructions'],
  ]
  try {
    await promisify(execFile)(site.programs.initdb, args, {
      cwd: site.directory,
      env: environment(),
      timeout: startSecondsMax * 1_000,
      windowsHide: true,
      ...site.account,
    })
  } catch (cause) {
    const output = cause instanceof Error && 'stderr' in cause ? String(cause.stderr) : ''
    throw new EmbeddedPostgresError(
      'INITDB_FAILED',
      `The embedded PostgreSQL was not started: initdb failed in ${site.directory}, which was removed. ` +
        (output.trim().slice(-logBytesShownMax) || String(cause)),
      { cause },
    )
  }
}

async function startOnFreePort(
  site: Site,
  settings: Readonly<Record<string, string>>,
): Promise<{ server: GuardedPostgres; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const server = await startOnPort(site, settings, port)
    if (await accepts(site, server)) return { server, port }
    const ended = server.ended
    const log = await readFile(site.log, 'utf8')
    await server.stop()
    // Somebody else took the port between the look and the start.
    if (ended && attempt < portAttemptsMax && !(await portIsFree(port))) continue
    throw new EmbeddedPostgresError(
      'START_FAILED',
      `The embedded PostgreSQL ${ended ? 'ended while it started' : `was not ready after ${startSecondsMax} s`}. ` +
        `Its directory was removed. Its log ends with: ${log.trim().slice(-logBytesShownMax)}`,
    )
  }
}

function startOnPort(site: Site, settings: Readonly<Record<string, string>>, port: number): Promise<GuardedPostgres> {
  const given = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const command = {
    command: site.programs.postgres,
    args: ['-D', site.data, '-p', String(port), ...given],
    cwd: site.directory,
    env: environment(),
    directory: site.directory,
  }
  return GuardedPostgres.start(command, site.account, site.log)
}

/** Waits until the server says in its pid file that it accepts connections, as `pg_ctl --wait` does. */
async function accepts(site: Site, server: GuardedPostgres): Promise<boolean> {
  const deadline = performance.now() + startSecondsMax * 1_000
  while (!server.ended && performance.now() < deadline) {
    const lines = await readFile(join(site.data, 'postmaster.pid'), 'utf8').then(
      (text) => text.split('\n'),
      () => [],
    )
    if (lines[7]?.trim() === 'ready') return true
    await delay(10)
  }
  return false
}

function embeddedPostgres(site: Site, server: GuardedPostgres, port: number): EmbeddedPostgres {
  const stop = async () => {
    await server.stop()
    // The guard has removed it, unless the server had ended by itself.
    await remove(site.directory)
  }
  return {
    name: `PostgreSQL ${major} (embedded)`,
    url: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    major,
    directory: site.directory,
    guardId: server.guardId,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** This process's environment without what would change how PostgreSQL or the guard behaves. */
function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(PG|LC_|LANG|NODE_)/.test(name))
  return { ...Object.fromEntries(kept), LC_ALL: 'C' }
}

async function remove(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true, maxRetries: 5 })
}
