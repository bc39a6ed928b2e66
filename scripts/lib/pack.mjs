// @ts-check
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { command, repository, SetUpError } from './command.mjs'
import { npx, packageManagerOf } from './install.mjs'
import { prepare } from './prepare.mjs'

/**
 * Packs every published package. What depends on another of them asks for its version, so an application outside this
 * repository installs those that it needs together: `npm install <folder>/ticketing-{client,core,…}.tgz`.
 *
 * @param {string} root
 * @param {string} folder is emptied first
 * @returns {Promise<string[]>} the files, by name
 * @throws {SetUpError} when one cannot be packed
 */
export async function pack(root, folder) {
  await prepare(root)
  return await packBuilt(root, folder)
}

/**
 * The same with what is built and installed as it stands.
 *
 * @param {string} root
 * @param {string} folder
 * @returns {Promise<string[]>}
 * @throws {SetUpError}
 */
export async function packBuilt(root, folder) {
  rmSync(folder, { recursive: true, force: true })
  const args = ['-y', packageManagerOf(root), '-r', '--filter', './packages/*', 'pack', '--pack-destination', folder]
  const { code, output } = await npx(root, args)
  if (code !== 0) throw new SetUpError(`the packages could not be packed (exit code ${code}):\n${output.trim()}`, code)
  return readdirSync(folder).filter((name) => name.endsWith('.tgz'))
}

/** The command `npm run pack`. */
export function packCommand() {
  return command(async () => {
    const folder = join(repository, '.cache/packages')
    const files = await pack(repository, folder)
    process.stdout.write(`${files.map((name) => join(folder, name)).join('\n')}\n`)
    return 0
  })
}
