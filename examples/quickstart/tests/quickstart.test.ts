import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const directory = new URL('..', import.meta.url)

it('the code on the first screen of the README runs as it stands', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['quickstart.mjs'], { cwd: directory })
  expect(stdout).toMatch(/^token \d+, \d+\.\d s left\ncommitted, the balance is 90\n$/)
})

it('the README shows this very file', async () => {
  const [readme, file] = await Promise.all([
    readFile(new URL('../../README.md', directory), 'utf8'),
    readFile(new URL('quickstart.mjs', directory), 'utf8'),
  ])
  expect(readme).toContain(`\`\`\`js\n${file}\`\`\``)
})
