import { readFile } from 'node:fs/promises'
import ts from 'typescript'
import * as fence from '../../src/index.js'

/** Runs a file of this package whose only import is the package itself, with its standard decorators compiled. */
export async function loadWithStandardDecorators<Exports>(file: URL): Promise<Exports> {
  const { outputText } = ts.transpileModule(await readFile(file, 'utf8'), {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS },
  })
  const exports = {}
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- vitest leaves standard decorators as they are
  const run = new Function('require', 'exports', outputText) as (require: () => unknown, exports: object) => void
  run(() => fence, exports)
  return exports as Exports
}
