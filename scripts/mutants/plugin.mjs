// @ts-check
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from '../lib/command.mjs'
import { mutants } from './mutants.mjs'

/** The environment variable that names the mutant to make. */
export const mutantVariable = 'TICKETING_MUTANT'

/**
 * Replaces the text of sources while they are loaded, as the mutant of TICKETING_MUTANT says; does nothing without one.
 *
 * @param {string | undefined} [name]
 * @returns {NonNullable<import('vitest/config').ViteUserConfig['plugins']>}
 */
export function mutantPlugin(name = process.env[mutantVariable]) {
  if (name === undefined || name === '') return []
  const sources = mutatedSources(name)
  return [
    {
      name: 'ticketing-mutant',
      enforce: 'pre',
      transform(_, id) {
        return sources.get(id.split('?')[0] ?? '')
      },
    },
  ]
}

/**
 * The mutated text of each file that a mutant touches, by its path.
 *
 * @param {string} name
 * @param {string} [root]
 * @returns {Map<string, string>}
 * @throws {Error} where there is no such mutant, or a text that it replaces does not occur exactly once: it says nothing
 *   then, so it must not pass for one that was caught or that survived.
 */
export function mutatedSources(name, root = repository) {
  const mutant = mutants.find((candidate) => candidate.name === name)
  if (mutant === undefined) {
    throw new Error(`There is no mutant "${name}"; there are ${mutants.map((known) => known.name).join(', ')}.`)
  }
  const sources = new Map()
  for (const { file, find, replace } of mutant.edits) {
    const path = join(root, file)
    const [before = '', ...after] = (sources.get(path) ?? readFileSync(path, 'utf8')).split(find)
    if (after.length !== 1) {
      throw new Error(
        `The mutant "${name}" replaces a text that occurs ${after.length} times in ${file}, not once. Change the mutant ` +
          `with the source:\n${find}`,
      )
    }
    sources.set(path, before + replace + after[0])
  }
  return sources
}
