// @ts-check
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mutants } from '../mutants/mutants.mjs'
import { mutantVariable } from '../mutants/plugin.mjs'
import { adaptersIn, judge, promisesLess, testsOf } from '../mutants/verdict.mjs'
import { runChild } from './child.mjs'
import { command, progress, repository, SetUpError } from './command.mjs'
import { prepare } from './prepare.mjs'
import { members } from './workspace.mjs'

/** @typedef {import('../mutants/verdict.mjs').Report} Report */
/** @typedef {import('../mutants/verdict.mjs').Verdict} Verdict */

/** A test that a mutant makes wait for ever must not hold up the others for long. */
const testMilliseconds = 6_000
const hookMilliseconds = 20_000

/**
 * The command `npm run mutants`: makes each mutant of the fence in memory and demands that every adapter's conformance
 * suite turns red by a rule that the mutant breaks.
 *
 * @param {readonly string[]} names the mutants to make; all without one
 * @param {string} [root]
 */
export function runMutants(names, root = repository) {
  return command(async () => {
    const unknown = names.filter((name) => !mutants.some((mutant) => mutant.name === name))
    if (unknown.length > 0) {
      throw new SetUpError(
        `No mutant was made: there is none named ${unknown.join(', ')}. There are ${mutants.map(({ name }) => name).join(', ')}.`,
      )
    }
    await prepare(root)
    const files = members(root)
      .map(({ directory }) => `${directory}/tests/conformance.test.ts`)
      .filter((file) => existsSync(join(root, file)))
    const clean = await suite(root, files, undefined, [])
    if (clean.code !== 0) {
      throw new SetUpError(`No mutant was made: the conformance suite fails without one.\n${clean.output}`)
    }
    const adapters = adaptersIn(clean.report)
    progress(`the conformance suite holds without a mutant, for ${adapters.join(', ')}`)
    let survivors = 0
    for (const mutant of mutants.filter(({ name }) => names.length === 0 || names.includes(name))) {
      const { report } = await suite(root, files, mutant.name, mutant.breaks)
      console.log(`\n${mutant.name} (${mutant.meaning}; breaks ${mutant.breaks.join(', ')})`)
      for (const adapter of adapters) {
        const reason = promisesLess(clean.report, adapter, mutant.breaks) ? mutant.exempt?.[adapter] : undefined
        const verdict =
          reason === undefined
            ? judge(report, adapter, mutant.breaks)
            : /** @type {Verdict} */ ({ status: 'exempt', reason })
        if (verdict.status !== 'caught' && verdict.status !== 'exempt') survivors += 1
        console.log(`  ${adapter.padEnd(Math.max(...adapters.map((name) => name.length)))}  ${describe(verdict)}`)
      }
    }
    console.log(survivors === 0 ? '\nEvery mutant was caught for every adapter.' : `\n${survivors} not caught.`)
    return survivors === 0 ? 0 : 1
  })
}

/** @param {Verdict} verdict */
function describe(verdict) {
  if (verdict.status === 'caught') return `caught by ${verdict.test}`
  if (verdict.status === 'exempt') return `not promised: ${verdict.reason}`
  return `${verdict.status === 'survived' ? 'SURVIVED' : 'NOT JUDGED'}: ${verdict.reason}`
}

/**
 * Runs the conformance suites of all adapters on one server and one isolation level.
 *
 * @param {string} root
 * @param {readonly string[]} files
 * @param {string | undefined} mutant
 * @param {readonly string[]} rules only the tests of these, or all
 * @returns {Promise<{ code: number, output: string, report: Report }>}
 */
async function suite(root, files, mutant, rules) {
  const directory = mkdtempSync(join(tmpdir(), 'ticketing-mutants-'))
  const file = join(directory, 'report.json')
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const limits = mutant === undefined ? [] : [`--testTimeout=${testMilliseconds}`, `--hookTimeout=${hookMilliseconds}`]
  const filter = rules.length === 0 ? [] : ['-t', testsOf(rules)]
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
  const env = {
    ...process.env,
    TICKETING_CONFORMANCE: mutant === undefined ? 'quick' : 'first',
    [mutantVariable]: mutant ?? '',
  }
  try {
    const args = [vitest, 'run', '--project', 'database', ...files, ...filter, ...limits, ...reporters]
    const { code, output } = await runChild(process.execPath, args, { cwd: root, env, capture: true })
    if (!existsSync(file)) {
      throw new SetUpError(`The test runner left no report${mutant ? ` for the mutant ${mutant}` : ''}.\n${output}`)
    }
    return { code, output, report: /** @type {Report} */ (JSON.parse(readFileSync(file, 'utf8'))) }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
