import { access, chmod, cp, readdir, readFile, realpath, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { EmbeddedPostgresError } from './embedded-postgres-error.js'
import { canReach, type ServerAccount } from './server-account.js'

/** Where PostgreSQL's programs lie. Their libraries and shared files lie beside `bin`, where they look for them. */
export interface PostgresPrograms {
  readonly initdb: string
  readonly postgres: string
}

interface Link {
  readonly source: string
  readonly target: string
}

/**
 * The programs of the package for this platform.
 *
 * @throws {EmbeddedPostgresError} `UNSUPPORTED_PLATFORM` when no such package is installed.
 */
export async function packagedPrograms(platform = packagePlatform()): Promise<PostgresPrograms> {
  const name = `@embedded-postgres/${platform}`
  const { initdb, postgres } = (await import(pathToFileURL(installedPackage(name)).href)) as PostgresPrograms
  return { initdb: await realpath(initdb), postgres: await realpath(postgres) }
}

function installedPackage(name: string): string {
  try {
    return createRequire(import.meta.url).resolve(name)
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'MODULE_NOT_FOUND')) throw cause
    throw new EmbeddedPostgresError(
      'UNSUPPORTED_PLATFORM',
      `The embedded PostgreSQL was not started: the package ${name} is not installed. ` +
        'Either there is none for this platform, or the install left out optional dependencies. ' +
        'Install again without leaving them out, or use a PostgreSQL of your own.',
      { cause },
    )
  }
}

function packagePlatform(): string {
  return `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
}

/**
 * Programs that the account can run: those of the package where it can reach them, else a copy below `directory`.
 *
 * A copy (some 60 MB, a fifth of a second) belongs to one server and goes with its directory. A cache of copies would
 * be shared by everybody on the machine, and would have to be guarded against half a copy and against strangers' files.
 */
export async function reachablePrograms(
  packaged: PostgresPrograms,
  account: ServerAccount | undefined,
  directory: string,
): Promise<PostgresPrograms> {
  const root = dirname(dirname(packaged.postgres))
  const links = await libraryLinks(root)
  const places = [packaged.initdb, packaged.postgres, join(root, 'lib'), join(root, 'share')]
  const reachable = await Promise.all(places.map((place) => canReach(account, place)))
  const linked = await Promise.all(links.map((link) => exists(join(root, link.target))))
  if (reachable.every(Boolean) && linked.every(Boolean)) return packaged

  const copy = join(directory, 'programs')
  await cp(root, copy, { recursive: true, verbatimSymlinks: true, filter: (source) => !source.endsWith('.a') })
  for (const link of links) await addLink(join(copy, link.source), join(copy, link.target))
  await openToAll(copy)
  return {
    initdb: join(copy, 'bin', basename(packaged.initdb)),
    postgres: join(copy, 'bin', basename(packaged.postgres)),
  }
}

/**
 * The links between libraries, which a package registry cannot carry. The package's own install script makes them, but
 * a package manager may have been told to run no scripts.
 */
async function libraryLinks(root: string): Promise<Link[]> {
  const list = join(root, 'pg-symlinks.json')
  if (!(await exists(list))) return []
  const links = JSON.parse(await readFile(list, 'utf8')) as Link[]
  const inRoot = (path: string) => path.replace(/^native\//, '')
  return links.map(({ source, target }) => ({ source: inRoot(source), target: inRoot(target) }))
}

async function addLink(source: string, target: string): Promise<void> {
  if (!(await exists(target))) await symlink(basename(source), target)
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

/** A restrictive umask at install time may have closed the originals. */
async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755)
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) await openToAll(path)
    else if (entry.isFile()) await chmod(path, basename(directory) === 'bin' ? 0o755 : 0o644)
  }
}

/** The program that keeps watch over a server; it is shipped as it stands, beside `src` and `dist`. */
export const guardProgram = fileURLToPath(new URL('../processes/postgres-guard.mjs', import.meta.url))
