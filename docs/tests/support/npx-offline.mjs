// @ts-check
/**
 * `npx` for a test without a network. Prisma Migrate would fetch an engine, so `npx prisma migrate deploy` is done here: each
 * migration's SQL, in the order of its folder's name. It fails as Migrate would find drift: at a table that is neither a
 * model nor named as external. Everything else is the real npx.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'

if (process.argv.slice(2).join(' ') === 'prisma migrate deploy') await deploy()
else realNpx()

async function deploy() {
  const require = createRequire(join(process.env['GUIDE_WORKSPACE'] ?? '', 'packages/testing/package.json'))
  const client = new (require('pg').Client)(process.env['DATABASE_URL'])
  await client.connect()
  const folder = 'prisma/migrations'
  const migrations = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  for (const { name } of migrations.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    await client.query(readFileSync(join(folder, name, 'migration.sql'), 'utf8'))
  }
  /** @type {{ rows: { name: string }[] }} */
  const { rows } = await client.query("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'")
  await client.end()
  const models = [...readFileSync('prisma/schema.prisma', 'utf8').matchAll(/^model (\w+)/gm)].map(([, name]) => name)
  const config = readFileSync('prisma.config.ts', 'utf8')
  const drift = rows.filter(({ name }) => !models.includes(name) && !config.includes(`'public.${name}'`))
  if (drift.length > 0) throw new Error(`Drift: ${drift.map(({ name }) => name).join(', ')}`)
}

function realNpx() {
  const PATH = (process.env['PATH'] ?? '').split(delimiter).slice(1).join(delimiter)
  const { status } = spawnSync('npx', process.argv.slice(2), { env: { ...process.env, PATH }, stdio: 'inherit' })
  process.exitCode = status ?? 1
}
