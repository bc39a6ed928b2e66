// @ts-check
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runChild } from './child.mjs'
import { command, repository, SetUpError } from './command.mjs'
import { prepare } from './prepare.mjs'

const demo = 'examples/bank-transfers/dist/main.mjs'

/**
 * The command `npm start`.
 *
 * @param {readonly string[]} args handed to the demo
 * @param {string} [root]
 */
export function start(args, root = repository) {
  return command(async () => {
    await prepare(root)
    const file = join(root, demo)
    if (!existsSync(file)) throw new SetUpError(`The demo was not run: its build left no ${demo}.`)
    return (await runChild(process.execPath, [file, ...args])).code
  })
}
