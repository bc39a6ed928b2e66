import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { isNewEnough, oldestNode } from '../lib/node-version.mjs'

test.each([
  ['20.19.0', true],
  ['20.19.1', true],
  ['20.20.0', true],
  ['22.0.0', true],
  ['100.0.0', true],
  ['20.18.9', false],
  ['20.9.0', false],
  ['18.20.8', false],
  ['8.17.0', false],
])('Node %s: %s', (version, expected) => {
  expect(isNewEnough(version)).toBe(expected)
})

test('package.json asks for the same', async () => {
  const manifest = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(`${manifest.engines.node.replace('>=', '')}.0`).toBe(oldestNode)
})
