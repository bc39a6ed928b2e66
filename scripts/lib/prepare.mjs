// @ts-check
import { join } from 'node:path'
import { build, buildsNeeded } from './build.mjs'
import { command, repository } from './command.mjs'
import { exclusively } from './exclusive.mjs'
import { install, needsInstall } from './install.mjs'

/**
 * Installs what is missing and builds what changed. Where all is there it only looks, and needs no network.
 *
 * @param {string} [root]
 * @throws {import('./command.mjs').SetUpError} when it cannot be done
 */
export async function prepare(root = repository) {
  if (!needsInstall(root) && buildsNeeded(root).length === 0) return
  await exclusively(join(root, '.cache/prepare.lock'), async () => {
    // Whoever had the lock before may have done it all.
    if (needsInstall(root)) await install(root)
    await build(root)
  })
}

/** The command `npm run build`. */
export function prepareOnly() {
  return command(async () => {
    await prepare()
    return 0
  })
}
