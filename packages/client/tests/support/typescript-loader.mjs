/**
 * Lets a plain `node` process of a test import this repository's sources: `.js` means the `.ts` beside it, and types are
 * stripped. With `--conditions ticketing-source` packages resolve to their sources too.
 */
import { existsSync, readFileSync } from 'node:fs'
import { register } from 'node:module'
import { fileURLToPath } from 'node:url'
import typescript from 'typescript'

register(import.meta.url)

/** @type {import('node:module').ResolveHook} */
export async function resolve(specifier, context, next) {
  if (specifier.startsWith('.') && specifier.endsWith('.js')) {
    const source = new URL(specifier.replace(/js$/, 'ts'), context.parentURL)
    if (existsSync(source)) return { url: source.href, shortCircuit: true }
  }
  return next(specifier, context)
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context)
  const { outputText } = typescript.transpileModule(readFileSync(fileURLToPath(url), 'utf8'), {
    compilerOptions: { module: typescript.ModuleKind.ESNext, target: typescript.ScriptTarget.ES2022 },
  })
  return { format: 'module', source: outputText, shortCircuit: true }
}
