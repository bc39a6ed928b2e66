// @ts-check
/**
 * Generates the Prisma client of `prisma/schema.prisma` in the package it is run in. Prisma would fetch an engine that
 * only its migrations need; told that there is one, it generates without a network.
 */
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const require = createRequire(join(process.cwd(), 'package.json'))
const prisma = join(dirname(require.resolve('prisma/package.json')), 'build/index.js')
const { status, stderr } = spawnSync(process.execPath, [prisma, 'generate', '--schema', 'prisma/schema.prisma'], {
  env: {
    ...process.env,
    PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
    CHECKPOINT_DISABLE: '1',
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
  },
  stdio: ['ignore', 'ignore', 'pipe'],
  encoding: 'utf8',
})
if (status !== 0) process.stderr.write(stderr)
process.exitCode = status ?? 1
