// @ts-check
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { runChild } from './child.mjs'
import { progress, SetUpError } from './command.mjs'
import { directoryFingerprint, fingerprint, readIfThere } from './fingerprint.mjs'
import { members, neededBy, waves } from './workspace.mjs'

/** @typedef {import('./workspace.mjs').Member} Member */

/** Files of the repository that take part in every build. */
const sharedInputs = ['package.json', 'pnpm-lock.yaml', 'tsconfig.base.json', 'tsconfig.json', 'tsdown.library.ts']

/** What a build writes: the package itself, and the code that is generated for its tests. */
const outputs = ['dist', 'generated']

/** What lies in a package and takes no part in its build. */
const noInputs = new Set(['node_modules', 'dist', 'generated', 'tests', '.cache', 'coverage', 'README.md'])

/**
 * The packages to build, in waves: those whose sources changed since their last build, or whose results did.
 *
 * A package's stamp is removed before its build and written after it, with the fingerprint of what was built. So a
 * build that was interrupted, or a dist that somebody else changed, never counts as built.
 *
 * @param {string} root
 * @returns {Member[][]}
 */
export function buildsNeeded(root) {
  const inputs = inputFingerprints(root)
  const stale = (/** @type {Member} */ member) =>
    readIfThere(stampOf(root, member)) !== stampText(root, member, inputs.get(member.directory) ?? '')
  return waves(members(root))
    .map((wave) => wave.filter((member) => member.manifest.scripts?.['build'] && stale(member)))
    .filter((wave) => wave.length > 0)
}

/**
 * Builds what is needed: a wave at a time, the packages of one wave side by side.
 *
 * @param {string} root
 * @throws {SetUpError} when a build fails, with what it printed
 */
export async function build(root) {
  for (const wave of buildsNeeded(root)) {
    progress(`building ${wave.map((member) => member.manifest.name).join(', ')}`)
    // All of them end before a failure is reported: none must go on writing behind the report.
    const inputs = inputFingerprints(root)
    const builds = wave.map((member) => buildMember(root, member, inputs.get(member.directory) ?? ''))
    const results = await Promise.allSettled(builds)
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }
}

/**
 * @param {string} root
 * @param {Member} member
 * @param {string} inputs their fingerprint from before the build, so that what changes meanwhile is built the next time
 */
async function buildMember(root, member, inputs) {
  const stamp = stampOf(root, member)
  rmSync(stamp, { force: true })
  const directory = join(root, member.directory)
  const bins = [join(directory, 'node_modules/.bin'), join(root, 'node_modules/.bin'), process.env['PATH'] ?? '']
  const { code, output } = await runChild(member.manifest.scripts?.['build'] ?? '', [], {
    cwd: directory,
    env: { ...process.env, PATH: bins.join(delimiter) },
    capture: true,
    shell: true,
  })
  if (code !== 0) {
    const message = `${member.manifest.name} could not be built (exit code ${code}); nothing was run:\n${output.trim()}`
    throw new SetUpError(message, code)
  }
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, stampText(root, member, inputs))
}

/**
 * What each package's build depends on: its own files, those of the packages it needs, and the shared ones.
 *
 * @param {string} root
 * @returns {Map<string, string>} by the package's directory
 */
function inputFingerprints(root) {
  const all = members(root)
  const shared = sharedInputs.map((name) => readIfThere(join(root, name)) ?? '')
  /** @type {Map<string, string>} */
  const result = new Map()
  for (const member of waves(all).flat()) {
    const needed = neededBy(member, all).map((other) => result.get(other.directory) ?? '')
    const own = directoryFingerprint(join(root, member.directory), noInputs)
    result.set(member.directory, fingerprint([...shared, ...needed, own]))
  }
  return result
}

/**
 * @param {string} root
 * @param {Member} member
 * @param {string} inputs
 */
function stampText(root, member, inputs) {
  const written = outputs.map((name) => directoryFingerprint(join(root, member.directory, name)))
  return [inputs, ...written].join(' ')
}

/**
 * @param {string} root
 * @param {Member} member
 */
function stampOf(root, member) {
  return join(root, '.cache/built', member.directory.replaceAll('/', '-'))
}
