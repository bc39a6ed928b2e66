// @ts-check
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runChild } from './child.mjs'
import { progress, SetUpError } from './command.mjs'
import { fingerprint, readIfThere } from './fingerprint.mjs'
import { members, readManifest } from './workspace.mjs'

/** In node_modules, so that it goes when that goes. */
const stamp = 'node_modules/.ticketing-installed'

/** What other package managers leave in a node_modules. pnpm would trust its own record beside them. */
const foreignMarks = ['.package-lock.json', '.yarn-integrity', '.yarn-state.yml']

/**
 * Whether node_modules is not what the lock file asks for.
 *
 * @param {string} root
 */
export function needsInstall(root) {
  return readIfThere(join(root, stamp)) !== wanted(root) || isForeign(root) || missingDependency(root) !== undefined
}

/**
 * Installs with the pinned pnpm, which npx fetches: the machine needs npm only.
 *
 * @param {string} root
 * @throws {SetUpError} when it fails
 */
export async function install(root) {
  const packageManager = packageManagerOf(root)
  progress(`installing dependencies with ${packageManager}`)
  rmSync(join(root, stamp), { force: true })
  if (isForeign(root)) {
    progress("replacing another package manager's node_modules")
    rmSync(join(root, 'node_modules'), { recursive: true, force: true })
  }
  const { code, output } = await npx(root, ['-y', packageManager, 'install', '--frozen-lockfile'])
  if (code !== 0) throw new SetUpError(failure(code, output), code)
  const missing = missingDependency(root)
  if (missing)
    throw new SetUpError(
      `The install ended well, and yet ${missing} is missing. Remove node_modules and run this again.`,
    )
  writeFileSync(join(root, stamp), wanted(root))
}

/**
 * The pinned pnpm, as npx takes it.
 *
 * @param {string} root
 */
export function packageManagerOf(root) {
  const packageManager = readManifest(root).packageManager ?? ''
  if (/^pnpm@\d+\.\d+\.\d+$/.test(packageManager)) return packageManager
  throw new SetUpError(`Nothing was done: packageManager in package.json is "${packageManager}", not pnpm@x.y.z.`)
}

/**
 * @param {string} root
 * @param {string[]} args
 */
export async function npx(root, args) {
  // By default npm and pnpm wait over a minute before they admit that there is no network. What the person has set
  // stands, for npm hands its settings on under these names.
  const env = {
    npm_config_fetch_retries: '4',
    npm_config_fetch_retry_mintimeout: '1000',
    npm_config_fetch_retry_maxtimeout: '5000',
    ...process.env,
    // Under another npx (npx -p node@22 node scripts/test.mjs) these say what that one had to run.
    npm_config_package: undefined,
    npm_config_call: undefined,
  }
  try {
    // On Windows npx is a batch file, which only a shell can start.
    return await runChild('npx', args, { cwd: root, env, capture: true, shell: process.platform === 'win32' })
  } catch (error) {
    throw new SetUpError(`Nothing was done: npx, which comes with npm, could not be started (${error}). Install npm.`)
  }
}

/**
 * @param {number} code
 * @param {string} output
 */
function failure(code, output) {
  const tail = output.trim().split('\n').slice(-20).join('\n')
  const unreachable = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT/.test(
    output,
  )
  const advice = unreachable
    ? 'The package registry could not be reached. Dependencies are needed once; run this again when there is a network.'
    : 'The lines above say why. Your files are unchanged; run this again when that is settled.'
  return `the install failed (exit code ${code}):\n${tail}\nticketing: ${advice}`
}

/**
 * What decides the contents of node_modules: the lock file and its settings, what the packages ask for, and the Node
 * and platform that native modules are made for.
 *
 * @param {string} root
 */
function wanted(root) {
  const asked = [readManifest(root), ...members(root).map((member) => member.manifest)].map(
    ({ name, packageManager, dependencies, devDependencies, optionalDependencies, peerDependencies }) =>
      JSON.stringify([name, packageManager, dependencies, devDependencies, optionalDependencies, peerDependencies]),
  )
  const files = ['pnpm-lock.yaml', 'pnpm-workspace.yaml', '.npmrc'].map((name) => readIfThere(join(root, name)) ?? '')
  return fingerprint([...asked, ...files, process.versions.modules, process.platform, process.arch])
}

/** @param {string} root */
function isForeign(root) {
  return foreignMarks.some((name) => existsSync(join(root, 'node_modules', name)))
}

/**
 * The first dependency that a package asks for and has not got. Optional ones may be absent.
 *
 * @param {string} root
 */
function missingDependency(root) {
  const all = [{ directory: '', manifest: readManifest(root) }, ...members(root)]
  for (const { directory, manifest } of all) {
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })) {
      const path = join(directory, 'node_modules', name)
      if (!existsSync(join(root, path, 'package.json'))) return path
    }
  }
  return undefined
}
