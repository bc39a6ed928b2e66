// @ts-check
import { effects } from './effects.js'
import { packages } from './shells.js'

/** @typedef {import('./effects.js').Effect} Effect */

const linesMax = 300
const functionLinesMax = 70

/** The file that keeps the current section; the adapters read it from there. */
const asyncContextFile = 'packages/core/src/nested-sections.ts'

/** @param {Effect} kind */
const because = (kind) => ({
  message: `Effect "${kind}": only a leaf shell listed with it in scripts/lint/shells.js may have it. Let the caller hand it in.`,
})

/**
 * The rules of one file. A later configuration of a rule replaces an earlier one, so each file gets them whole.
 *
 * @param {string} name of the package
 * @param {readonly Effect[]} allowed
 * @param {boolean} keepsAsyncContext
 * @returns {import('eslint').Linter.RulesRecord}
 */
function rulesFor(name, allowed, keepsAsyncContext) {
  const kinds = /** @type {Effect[]} */ (Object.keys(effects)).filter((kind) => !allowed.includes(kind))
  const globals = kinds.flatMap((kind) => (effects[kind].globals ?? []).map((name) => ({ name, ...because(kind) })))
  const properties = kinds.flatMap((kind) =>
    (effects[kind].properties ?? []).map((it) => ({ ...it, ...because(kind) })),
  )
  const syntax = kinds.flatMap((kind) =>
    (effects[kind].syntax ?? []).map((selector) => ({ selector, ...because(kind) })),
  )
  return {
    'max-lines': ['error', linesMax],
    'max-lines-per-function': ['error', functionLinesMax],
    'no-restricted-globals': ['error', { globals, checkGlobalObject: true }],
    'no-restricted-properties': ['error', ...properties],
    'no-restricted-syntax': ['error', ...syntax],
    '@typescript-eslint/no-restricted-imports': [
      'error',
      { paths: restrictedModules(kinds, keepsAsyncContext), patterns: [strangerPackages(name)] },
    ],
  }
}

/**
 * @param {readonly Effect[]} kinds
 * @param {boolean} keepsAsyncContext
 */
function restrictedModules(kinds, keepsAsyncContext) {
  const paths = kinds.flatMap((kind) =>
    // A type has no effect.
    (effects[kind].modules ?? []).map((name) => ({ name, ...because(kind), allowTypeImports: true })),
  )
  if (keepsAsyncContext) return paths
  const message = `The current section is kept in ${asyncContextFile} alone; read it from there.`
  return [...paths, ...['node:async_hooks', 'async_hooks'].map((name) => ({ name, message, allowTypeImports: false }))]
}

/**
 * Every package of the workspace but those that this one may import.
 *
 * @param {string} name
 */
function strangerPackages(name) {
  const allowed = (packages[name]?.imports ?? []).flatMap((other) => [
    `!@ticketing/${other}`,
    `!@ticketing/${other}/**`,
  ])
  return {
    group: ['@ticketing/*', '@ticketing/*/**', ...allowed],
    message: `Imports point one way; what @ticketing/${name} may import stands in scripts/lint/shells.js.`,
  }
}

/** One configuration for the sources of each package, and one for each of its leaf shells. */
export const packageRules = Object.entries(packages).flatMap(([name, { shells }]) => {
  const source = `packages/${name}/src`
  const keeper = name === 'core' ? [{ files: [asyncContextFile], rules: rulesFor(name, [], true) }] : []
  const leaves = Object.entries(shells).map(([file, allowed]) => ({
    files: [`${source}/${file}`],
    rules: rulesFor(name, allowed, false),
  }))
  return [{ files: [`${source}/**/*.ts`], rules: rulesFor(name, [], false) }, ...leaves, ...keeper]
})
