import { execFile } from 'node:child_process'
import { copyFile, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const require = createRequire(import.meta.url)
const tsc = require.resolve('typescript/bin/tsc')

const ours = ['client', 'core', 'knex', 'pg', 'prisma', 'protocol', 'testing', 'typeorm']

/** What an application would have installed, and the package of this workspace that has it. */
const theirs: Readonly<Record<string, string>> = {
  '@prisma/adapter-pg': 'packages/prisma',
  '@prisma/client': 'packages/prisma',
  '@types/node': '.',
  '@types/pg': '.',
  knex: 'packages/knex',
  pg: 'packages/pg',
  typeorm: 'packages/typeorm',
}

const resolutions = {
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext', files: ['consumer.mts', 'consumer.cts'] },
  bundler: { module: 'esnext', moduleResolution: 'bundler', files: ['consumer.mts'] },
} as const

/** Applications outside this repository that use what was built: no source of ours, and no setting of this workspace. */
describe('fault 20: applications that use the packages as they are published', () => {
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ticketing-consumers-'))
    for (const name of ours) await link(`@ticketing/${name}`, join(root, 'packages', name))
    for (const [name, owner] of Object.entries(theirs)) await link(name, join(root, owner, 'node_modules', name))
    for (const file of ['consumer.mts', 'consumer.cts']) {
      await copyFile(join(root, 'scripts/tests/consumers', file), join(folder, file))
    }
    await cp(join(root, 'packages/prisma/generated'), join(folder, 'generated'), { recursive: true })
    await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'consumer', type: 'module' }))
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  async function link(name: string, target: string): Promise<void> {
    const path = join(folder, 'node_modules', name)
    await mkdir(dirname(path), { recursive: true })
    await symlink(target, path, 'junction')
  }

  async function compile(resolution: keyof typeof resolutions): Promise<string> {
    const { files, ...modules } = resolutions[resolution]
    const outDir = join(folder, resolution)
    const compilerOptions = {
      ...modules,
      target: 'es2022',
      lib: ['es2023', 'esnext.disposable'],
      types: ['node'],
      strict: true,
      exactOptionalPropertyTypes: true,
      // Ours are checked; those of the libraries have faults of their own.
      skipLibCheck: true,
      // Prisma's generated client names its own files by .ts.
      rewriteRelativeImportExtensions: true,
      rootDir: folder,
      outDir,
    }
    const config = join(folder, `tsconfig.${resolution}.json`)
    await writeFile(config, JSON.stringify({ compilerOptions, files }))
    await run(process.execPath, [tsc, '-p', config], { cwd: folder }).catch((error: { stdout: string }) => {
      throw new Error(error.stdout)
    })
    return outDir
  }

  it('compile and run under nodenext, as an ES module and as CommonJS', async () => {
    const outDir = await compile('nodenext')
    for (const [file, line] of [
      ['consumer.mjs', 'the ES module ran\n'],
      ['consumer.cjs', 'the CommonJS module ran\n'],
    ] as const) {
      expect((await run(process.execPath, [join(outDir, file)], { cwd: folder })).stdout).toBe(line)
    }
  })

  it('compile under bundler', async () => {
    await compile('bundler')
  })

  it('have declarations that stand alone', async () => {
    const entries = ours.map((name) => `node_modules/@ticketing/${name}/dist/index.d.mts`)
    const compilerOptions = {
      ...resolutions.nodenext,
      files: undefined,
      target: 'es2022',
      types: ['node'],
      strict: true,
      noEmit: true,
    }
    const config = join(folder, 'tsconfig.declarations.json')
    const paths = entries.map((entry) => join(folder, entry))
    await writeFile(config, JSON.stringify({ compilerOptions, files: paths }))
    const output = await run(process.execPath, [tsc, '-p', config], { cwd: folder }).then(
      () => '',
      (error: { stdout: string }) => error.stdout,
    )
    expect(output.split('\n').filter((line) => /(@ticketing|packages)\/[a-z]+\/dist\/.*error/.test(line))).toEqual([])
  })
})
