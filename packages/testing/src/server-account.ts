import { constants, type Stats } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { EmbeddedPostgresError } from './embedded-postgres-error.js'

/** The numeric account that runs PostgreSQL's programs. */
export interface ServerAccount {
  readonly uid: number
  readonly gid: number
}

/**
 * The account that must run PostgreSQL, or `undefined` where that is the account of this process.
 *
 * PostgreSQL refuses to run as root. So root runs it as `nobody`, which every system has: no account is created.
 *
 * @throws {EmbeddedPostgresError} `NO_ACCOUNT` when this process is root and there is no `nobody`.
 */
export async function serverAccount(): Promise<ServerAccount | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const account = accountNamed('nobody', await readFile('/etc/passwd', 'utf8'))
  if (account) return account
  throw new EmbeddedPostgresError(
    'NO_ACCOUNT',
    'The embedded PostgreSQL was not started: this process is root, PostgreSQL refuses to run as root, and ' +
      '/etc/passwd has no account "nobody" to run it as. Run as an ordinary user, or use a PostgreSQL of your own.',
  )
}

/** The account of that name in the text of a `passwd` file. */
export function accountNamed(name: string, passwd: string): ServerAccount | undefined {
  for (const line of passwd.split('\n')) {
    const [user, , uid, gid] = line.split(':')
    if (user === name && uid && gid) return { uid: Number(uid), gid: Number(gid) }
  }
  return undefined
}

/** Whether the account can read this file or list this directory, and get there: a home of mode 0700 stops it. */
export async function canReach(account: ServerAccount | undefined, path: string): Promise<boolean> {
  if (!account) return true
  if (!grants(account, await stat(path), 'read')) return false
  for (let directory = path; ; directory = dirname(directory)) {
    const status = await stat(directory)
    if (status.isDirectory() && !grants(account, status, 'search')) return false
    if (directory === dirname(directory)) return true
  }
}

const bits = {
  read: { user: constants.S_IRUSR, group: constants.S_IRGRP, other: constants.S_IROTH },
  search: { user: constants.S_IXUSR, group: constants.S_IXGRP, other: constants.S_IXOTH },
} as const

/** The classic permission bits decide: the server's account has no further groups, for libuv drops them. */
function grants(account: ServerAccount, status: Stats, access: keyof typeof bits): boolean {
  const { user, group, other } = bits[access]
  if (status.uid === account.uid) return (status.mode & user) !== 0
  if (status.gid === account.gid) return (status.mode & group) !== 0
  return (status.mode & other) !== 0
}
