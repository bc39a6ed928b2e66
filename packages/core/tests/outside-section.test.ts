import { describe, expect, test } from 'vitest'
import { runOutside, sectionInForce } from '../src/index.js'
import { rejection, settle } from './support/gate.js'
import { type HostKind, hostKinds, RecordingHost } from './support/recording-host.js'
import { sectionWorld } from './support/section-world.js'

const [kind] = hostKinds as [HostKind]

describe('work that steps outside its section', () => {
  test('F9: a section is in force inside it, across awaits, and neither before nor after', async () => {
    const { fence, host } = sectionWorld(kind)
    expect(sectionInForce(host.pool)).toBeUndefined()
    await fence.run('a', async (tx) => {
      await settle()
      expect(sectionInForce(host.pool)?.handle).toBe(tx)
      expect(sectionInForce({})).toBeUndefined()
    })
    expect(sectionInForce(host.pool)).toBeUndefined()
  })

  test('F9: outside, it is not in force, also in what is awaited there; then it is again', async () => {
    const { fence, host } = sectionWorld(kind)
    await fence.run('a', async () => {
      const seen = await runOutside(host.pool, async () => {
        await settle()
        return sectionInForce(host.pool)
      })
      expect(seen).toBeUndefined()
      expect(sectionInForce(host.pool)).toBeDefined()
    })
  })

  test('F9: stepping outside one pool changes nothing for another', async () => {
    const { fence, host, database } = sectionWorld(kind)
    const other = new RecordingHost(kind, database)
    await fence.run('a', () => {
      runOutside(other.pool, () => expect(sectionInForce(host.pool)).toBeDefined())
    })
  })

  test('F9: a section that is started outside is still a nested one', async () => {
    const { fence, host } = sectionWorld(kind)
    const error = await rejection(fence.run('a', () => runOutside(host.pool, () => fence.run('b', () => undefined))))
    expect(error).toMatchObject({ code: 'FENCE_NESTED' })
  })
})
