// @ts-check
/**
 * `npm` for a test without a network. `npm install` unpacks the given tarballs, and links the packages of others that the
 * workspace has installed; everything else is the real npm. It fails where npm would have to ask the registry for a
 * package of this project.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'

/** Where packages of others are found: node_modules folders. */
const sources = (process.env['GUIDE_PACKAGES_OF_OTHERS'] ?? '').split(delimiter)
const workspace = process.env['GUIDE_WORKSPACE'] ?? ''
const target = resolve('node_modules')

const [command, ...args] = process.argv.slice(2)
if (command === 'install') install(args.filter((arg) => !arg.startsWith('-')))
else realNpm()

/** @param {string[]} wanted */
function install(wanted) {
  const own = wanted.filter((name) => name.endsWith('.tgz')).map(unpack)
  const names = new Set(own.map(({ name }) => name))
  for (const name of wanted.filter((name) => !name.endsWith('.tgz'))) link(name.replace(/(?<=.)@.*$/, ''), sources)
  for (const { name, dependencies, peerDependencies } of own) {
    for (const needed of Object.keys({ ...dependencies })) {
      if (!needed.startsWith('@ticketing/')) {
        link(needed, [join(workspace, 'packages', name.replace('@ticketing/', ''), 'node_modules')])
      } else if (!names.has(needed)) throw new Error(`${name} needs ${needed}, which is not among the tarballs`)
    }
    for (const peer of Object.keys({ ...peerDependencies })) {
      const optional = /** @type {any} */ (own.find((other) => other.name === name))?.peerDependenciesMeta?.[peer]
      if (!optional && !existsSync(join(target, peer)))
        throw new Error(`${name} needs ${peer}, which was not installed`)
    }
  }
  process.stdout.write(`added ${wanted.length} packages\n`)
}

/** @param {string} tarball */
function unpack(tarball) {
  const manifest = JSON.parse(execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' }))
  const folder = join(target, manifest.name)
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', folder])
  linkPrograms(folder, manifest)
  return manifest
}

/**
 * @param {string} name
 * @param {readonly string[]} folders
 */
function link(name, folders) {
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
  if (found === undefined) throw new Error(`${name} is not installed in this repository`)
  const path = join(target, name)
  if (existsSync(path)) return
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(realpathSync(found), path)
  linkPrograms(path, JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')))
}

/**
 * @param {string} folder
 * @param {{ name: string, bin?: string | Record<string, string> }} manifest
 */
function linkPrograms(folder, { name, bin = {} }) {
  const programs = typeof bin === 'string' ? { [name.replace(/^@.*\//, '')]: bin } : bin
  mkdirSync(join(target, '.bin'), { recursive: true })
  for (const [program, file] of Object.entries(programs)) {
    const path = join(target, '.bin', program)
    rmSync(path, { force: true })
    if (folder.startsWith(target) && name.startsWith('@ticketing/')) chmodSync(join(folder, file), 0o755)
    symlinkSync(join(folder, file), path)
  }
}

/** The programs of the test stand first in the path. */
function realNpm() {
  const PATH = (process.env['PATH'] ?? '').split(delimiter).slice(1).join(delimiter)
  const { status } = spawnSync('npm', process.argv.slice(2), { env: { ...process.env, PATH }, stdio: 'inherit' })
  process.exitCode = status ?? 1
}
