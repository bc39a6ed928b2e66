// @ts-check
import { join } from 'node:path'
import { runChild } from './child.mjs'
import { command, repository, SetUpError } from './command.mjs'
import { prepare } from './prepare.mjs'
import { describeMissing, missingServices } from './services.mjs'

const requireSwitch = '--require-services'
const requireVariable = 'TICKETING_REQUIRE_SERVICES'

/**
 * The command `npm test`.
 *
 * @param {readonly string[]} args handed to Vitest, but for `--require-services`, which makes a missing service a failure
 * @param {string} [root]
 */
export function test(args, root = repository) {
  return command(async () => {
    const required = args.includes(requireSwitch) || process.env[requireVariable] === '1'
    await prepare(root)
    const missing = await missingServices(root)
    if (required && missing.length > 0) {
      throw new SetUpError(
        `No test was run, because services are missing and ${requireSwitch} or ${requireVariable}=1 was given.\n` +
          describeMissing(missing).trimEnd(),
      )
    }
    const vitest = join(root, 'node_modules/vitest/vitest.mjs')
    const rest = args.filter((arg) => arg !== requireSwitch)
    const { code } = await runChild(process.execPath, [vitest, 'run', ...rest], { cwd: root })
    process.stdout.write(`\n${describeMissing(missing)}`)
    return code
  })
}
