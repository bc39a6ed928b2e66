import { expect, it, vi } from 'vitest'
import { WireError } from '../src/index.js'

it('house rule: instanceof holds across copies of the package', async () => {
  vi.resetModules()
  const copy = (await import('../src/index.js')).WireError
  expect(copy).not.toBe(WireError)
  expect(new copy('WIRE_VERSION', 'other')).toBeInstanceOf(WireError)
  expect(new WireError('WIRE_VERSION', 'own')).toBeInstanceOf(copy)
  expect(new Error('plain')).not.toBeInstanceOf(WireError)
})
