import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type DatabaseTarget } from '../../packages/testing/src/index.js'
import { databaseTargets } from '../../packages/testing/src/vitest.js'
import { follow } from './support/follow.js'
import { Reader } from './support/reader.js'

const folder = fileURLToPath(new URL('../guides', import.meta.url))
const read = (guide: string) => readFileSync(join(folder, guide), 'utf8')
const knexGuide = 'fence-an-existing-knex-app.md'
const prismaGuide = 'fence-an-existing-prisma-app.md'

/** Each guide, with the folder of this repository that has the packages of others which it installs. */
const guides: Readonly<Record<string, string>> = {
  [knexGuide]: 'packages/knex',
  [prismaGuide]: 'examples/prisma-payments',
  'fence-an-existing-typeorm-or-nest-app.md': 'examples/typeorm-payouts',
}

/** What somebody may do to the code or a guide, and what the reader meets then. */
const rot = [
  [
    'a function that is not exported',
    knexGuide,
    'fenceMigration',
    'fencingMigration',
    /does not provide an export named/,
  ],
  [
    'a stale holder that is not refused',
    knexGuide,
    'fence.runWith(asleep, (trx)',
    'knex.transaction((trx)',
    /free: 0 \}/,
  ],
  ['a package that is not installed', knexGuide, '{protocol,client,', '{client,', /needs @ticketing\/protocol/],
  ['an output that is not so', knexGuide, '10 of 20', '11 of 20', /11 of 20/],
  [
    'a table that Prisma Migrate would drop',
    prismaGuide,
    ", 'public.ticketing_fence_floor'",
    '',
    /Drift: ticketing_fence_floor/,
  ],
  [
    'a setting that Prisma refuses',
    prismaGuide,
    '  experimental: { externalTables: true },\n',
    '',
    /requires.*externalTables/,
  ],
] as const

describe('the guides', () => {
  let reader: Reader | undefined

  beforeAll(async () => {
    reader = await Reader.equip()
  }, 600_000)
  afterAll(() => reader?.[Symbol.dispose]())

  async function followed(name: string, text: string): Promise<void> {
    await using database = await createDatabase(databaseTargets()[0] as DatabaseTarget)
    await using run = (reader as Reader).begin(guides[name] as string, database.url)
    await follow(text, run)
  }

  it('all of them are followed here', () => {
    expect(readdirSync(folder).sort()).toEqual(Object.keys(guides).sort())
  })

  it.each(['README.md', ...Object.keys(guides).map((name) => `guides/${name}`)])(
    '%s: its links lead somewhere',
    (name) => {
      const page = join(folder, '..', name)
      const links = [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path = '']) => path)
      expect(links.filter((path) => !existsSync(join(dirname(page), path)))).toEqual([])
      expect(links).not.toEqual([])
    },
  )

  it.each(Object.keys(guides))(
    '%s: followed step by step in an empty folder, it comes out as it says',
    (name) => followed(name, read(name)),
    300_000,
  )

  it.each(rot)(
    'a guide that rots is found: %s',
    async (_, guide, sound, rotten, found) => {
      const text = read(guide)
      expect(text).toContain(sound)
      await expect(followed(guide, text.replaceAll(sound, rotten))).rejects.toThrow(found)
    },
    300_000,
  )
})
