// @ts-check
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SetUpError } from './command.mjs'

/**
 * @typedef {Record<string, string>} Ranges
 * @typedef {object} Manifest what the set-up reads in a package.json
 * @property {string} name
 * @property {string} [packageManager]
 * @property {Record<string, string>} [scripts]
 * @property {Ranges} [dependencies]
 * @property {Ranges} [devDependencies]
 * @property {Ranges} [optionalDependencies]
 * @property {Ranges} [peerDependencies]
 *
 * @typedef {object} Member one package of the workspace
 * @property {string} directory relative to the repository
 * @property {Manifest} manifest
 */

/**
 * The packages of the workspace, as pnpm-workspace.yaml lists them: packages/*, examples/* and benchmarks.
 *
 * @param {string} root
 * @returns {Member[]}
 */
export function members(root) {
  const below = (/** @type {string} */ parent) =>
    existsSync(join(root, parent)) ? readdirSync(join(root, parent)).map((name) => `${parent}/${name}`) : []
  return [...below('packages'), ...below('examples'), 'benchmarks']
    .filter((directory) => existsSync(join(root, directory, 'package.json')))
    .sort()
    .map((directory) => ({ directory, manifest: readManifest(join(root, directory)) }))
}

/**
 * @param {string} directory
 * @returns {Manifest}
 */
export function readManifest(directory) {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
}

/**
 * The members that this one needs at run time.
 *
 * @param {Member} member
 * @param {readonly Member[]} all
 */
export function neededBy(member, all) {
  const names = { ...member.manifest.dependencies, ...member.manifest.peerDependencies }
  return all.filter((other) => other.manifest.name in names)
}

/**
 * The members in waves: each needs only members of earlier waves.
 *
 * @param {readonly Member[]} all
 * @returns {Member[][]}
 */
export function waves(all) {
  /** @type {Member[][]} */
  const result = []
  let left = [...all]
  while (left.length > 0) {
    const wave = left.filter((member) => !neededBy(member, left).length)
    if (wave.length === 0) {
      const names = left.map((member) => member.manifest.name).join(', ')
      throw new SetUpError(`Nothing was built: these packages need each other in a circle: ${names}.`)
    }
    result.push(wave)
    left = left.filter((member) => !wave.includes(member))
  }
  return result
}
