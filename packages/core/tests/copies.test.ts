import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'tsdown'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as source from '../src/index.js'
import { rejection } from './support/gate.js'
import { type HostKind, hostKinds } from './support/recording-host.js'
import { defaults, sectionWorld } from './support/section-world.js'

type Core = typeof source

const [kind] = hostKinds as [HostKind]
const packageFolder = fileURLToPath(new URL('..', import.meta.url))

/** One process can hold several copies of this package: an ES module, a CommonJS one, and another version's. */
const copies = { source } as { source: Core; esm: Core; cjs: Core }
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ticketing-copies-'))
  await build({
    config: false,
    cwd: packageFolder,
    entry: ['src/index.ts'],
    format: ['esm', 'cjs'],
    outDir: folder,
    fixedExtension: true,
    platform: 'node',
    dts: false,
    noExternal: /^@ticketing\//, // so that each copy stands alone
    inputOptions: { resolve: { conditionNames: ['ticketing-source', 'node', 'import'] } },
    logLevel: 'error',
  })
  copies.esm = (await import(pathToFileURL(join(folder, 'index.mjs')).href)) as Core
  copies.cjs = createRequire(import.meta.url)(join(folder, 'index.cjs')) as Core
})

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

const names = ['source', 'esm', 'cjs'] as const
const pairs = names.flatMap((outer) => names.map((inner) => ({ outer, inner })))

describe('copies of the package', () => {
  test('they are copies indeed', () => {
    expect(new Set(names.map((name) => copies[name].createFence)).size).toBe(3)
    expect(new Set(names.map((name) => copies[name].FenceError)).size).toBe(3)
  })

  test.each(pairs)(
    'F9: a section of the $inner copy inside one of the $outer copy is refused',
    async ({ outer, inner }) => {
      const { host, broker, journal } = sectionWorld(kind)
      const outerFence = copies[outer].createFence(host, { broker, defaults })
      const innerFence = copies[inner].createFence(host, { broker, defaults })
      const error = await rejection(outerFence.run('a', () => innerFence.run('b', () => undefined)))
      expect(error).toMatchObject({ code: 'FENCE_NESTED' })
      expect(journal).not.toContain('acquire b')
    },
  )

  test.each(pairs)('F9: the $inner copy finds the section of the $outer copy', async ({ outer, inner }) => {
    const { host, broker } = sectionWorld(kind)
    const fence = copies[outer].createFence(host, { broker, defaults })
    const keys = await fence.run('a', () => copies[inner].currentSection(({ pool }) => pool === host.pool)?.keys)
    expect(keys).toEqual(['a'])
  })

  test.each(pairs)('F9: the $inner copy knows that the $outer copy stepped outside, and its fences', async (pair) => {
    const [outer, inner] = [copies[pair.outer], copies[pair.inner]]
    const { host, broker } = sectionWorld(kind)
    const fence = outer.createFence(host, { broker, defaults })
    await fence.run('a', () => {
      expect(inner.sectionInForce(host.pool)?.keys).toEqual(['a'])
      outer.runOutside(host.pool, () => expect(inner.sectionInForce(host.pool)).toBeUndefined())
    })
    const registered = { pool: host.pool, isUsable: () => true }
    outer.registerFence('Copies', `${pair.outer} ${pair.inner}`, registered)
    expect(inner.registeredFence('Copies', `${pair.outer} ${pair.inner}`)).toBe(registered)
  })

  test.each(pairs)(
    'F2: errors of the $outer copy are instances of the classes of the $inner one',
    ({ outer, inner }) => {
      const { FenceError, StaleTokenError } = copies[inner]
      const stale = new copies[outer].StaleTokenError('a', 1n, 2n)
      const other = new copies[outer].FenceError('FENCE_BLOCKED', 'not-executed', 'blocked')
      expect(stale instanceof FenceError).toBe(true)
      expect(stale instanceof StaleTokenError).toBe(true)
      expect(other instanceof FenceError).toBe(true)
      expect(other instanceof StaleTokenError).toBe(false)
      for (const stranger of [new Error('x'), { code: 'FENCE_STALE_TOKEN' }, null, undefined, 'FENCE_STALE_TOKEN']) {
        expect(stranger instanceof FenceError).toBe(false)
        expect(stranger instanceof StaleTokenError).toBe(false)
      }
    },
  )

  test.each(names)('F6: an error of the %s copy keeps its meaning in a section of this one', async (name) => {
    const { fence, database } = sectionWorld(kind)
    const refusal = new copies[name].FenceError(
      'FENCE_TX_ABORTED',
      'not-executed',
      'an adapter of another copy says so',
    )
    database.at('COMMIT', () => Promise.reject(refusal))
    expect(await rejection(fence.run('a', () => undefined))).toBe(refusal)
  })
})
