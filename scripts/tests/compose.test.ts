import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DCLinter } from 'dclint'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/** What is read of the linter's answer; its own declarations cannot be resolved by a strict compiler. */
interface LintResult {
  readonly messages: readonly { readonly rule: string; readonly type: string }[]
}

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string) => readFile(join(root, path), 'utf8')

let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ticketing-compose-'))
})

afterAll(() => rm(directory, { recursive: true, force: true }))

/** The faults of a Compose file: its schema always, and the rules that guard against more than taste. */
async function faults(text: string): Promise<string[]> {
  const file = join(directory, 'docker-compose.yml')
  await writeFile(file, text)
  const linter = new DCLinter({
    rules: {
      'no-build-and-image': 2,
      'no-duplicate-exported-ports': 2,
      'no-unbound-port-interfaces': 2,
      'no-version-field': 2,
      'require-quotes-in-ports': [2, { quoteType: 'double' }],
      'service-image-require-explicit-tag': 2,
      'service-keys-order': 0,
      'services-alphabetical-order': 0,
    },
    quiet: true,
    debug: false,
    exclude: [],
  })
  const results: LintResult[] = linter.lintFiles([file], false)
  return results.flatMap(({ messages }) => messages.filter(({ type }) => type === 'error').map(({ rule }) => rule))
}

describe('docker-compose.yml (checked as text: no container is started)', () => {
  test('keeps to the Compose schema, and publishes no port beyond this machine', async () => {
    expect(await faults(await read('docker-compose.yml'))).toEqual([])
  })

  test.each([
    ['an unknown key', (text: string) => text.replace('    restart:', '    restarts:'), 'invalid-schema'],
    ['a value of a wrong type', (text: string) => text.replace('read_only: true', 'read_only: [1]'), 'invalid-schema'],
    ['a port for everybody', (text: string) => text.replace('127.0.0.1:5225:', '5225:'), 'no-unbound-port-interfaces'],
  ])('%s would be found', async (_, change, rule) => {
    expect(await faults(change(await read('docker-compose.yml')))).toContain(rule)
  })

  test('takes its secrets from the environment, and does not start without', async () => {
    const text = await read('docker-compose.yml')
    for (const name of ['POSTGRES_PASSWORD', 'TICKETING_CLIENT_TOKENS']) {
      expect(text).toMatch(new RegExp(`^ {6}${name}: \\$\\{${name}:\\?`, 'm'))
    }
  })
})

describe('the image of the server (checked as text: it is not built)', () => {
  test('installs with the pinned pnpm', async () => {
    const { packageManager } = JSON.parse(await read('package.json'))
    const used = (await read('packages/server/Dockerfile')).match(/pnpm@[\d.]+/g)
    expect(new Set(used)).toEqual(new Set([packageManager]))
  })

  test('runs the program of the package as an ordinary user, and knows when it is healthy', async () => {
    const { bin } = JSON.parse(await read('packages/server/package.json'))
    const [, final] = (await read('packages/server/Dockerfile')).split(/^FROM node:20-slim\n/m)
    expect(final).toContain(`ENTRYPOINT ["node", "${join('/application', bin['ticketing-server'])}"]`)
    expect(final).toMatch(/^USER node$/m)
    expect(final).toMatch(/^HEALTHCHECK /m)
  })
})
