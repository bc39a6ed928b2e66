import { TicketError } from '@ticketing/client'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Gate, rejection, unhandledRejections } from './support/gate.js'
import { hostKinds } from './support/recording-host.js'
import { sectionWorld } from './support/section-world.js'

const unconfirmed = new TicketError('TICKET_RELEASE_UNCONFIRMED', 'unknown', 'No answer.')

describe.each(hostKinds)('$shape, $evidence', (kind) => {
  test('F10: the release is written after COMMIT’s answer, and the section settles without the release’s own', async () => {
    const { fence, broker, journal } = sectionWorld(kind)
    const answer = new Gate()
    broker.onRelease = async () => {
      await answer.wait()
      return 'released'
    }
    expect(await fence.run('a', () => 'done')).toBe('done')
    expect(journal.slice(-3)).toEqual(['COMMIT', 'give back', 'release a'])
    answer.open()
  })

  test('F10: no release is written while COMMIT is on its way', async () => {
    const { fence, database, journal } = sectionWorld(kind)
    const commit = new Gate()
    database.at('COMMIT', commit.wait)
    const section = fence.run('a', () => undefined)
    await commit.reached
    expect(journal).not.toContain('release a')
    commit.open()
    await section
    expect(journal.at(-1)).toBe('release a')
  })

  test.each([
    ['rejects', () => Promise.reject(unconfirmed)],
    [
      'throws',
      () => {
        throw unconfirmed
      },
    ],
  ])('F10: a release that %s is reported and changes neither a result nor an error', async (_how, onRelease) => {
    const { fence, broker, events } = sectionWorld(kind)
    broker.onRelease = onRelease
    const failure = new Error('the work failed')
    const unhandled = await unhandledRejections(async () => {
      expect(await fence.run(['a', 'b'], () => 'done')).toBe('done')
      expect(
        await rejection(
          fence.run('c', () => {
            throw failure
          }),
        ),
      ).toBe(failure)
    })
    expect(unhandled).toEqual([])
    expect(events).toEqual(
      [
        { key: 'a', token: 101n },
        { key: 'b', token: 102n },
        { key: 'c', token: 103n },
      ].map((ticket) => ({ name: 'release-failed', event: { ...ticket, error: unconfirmed } })),
    )
  })

  test('C4: a release answered "not current" is no failure', async () => {
    const { fence, broker, events } = sectionWorld(kind)
    broker.onRelease = () => Promise.resolve('not-current')
    await fence.run('a', () => undefined)
    expect(events).toEqual([])
  })
})

describe('the side channel', () => {
  const [kind] = hostKinds
  if (kind === undefined) throw new Error('There are host kinds.')
  const warnings: string[] = []
  vi.spyOn(process, 'emitWarning').mockImplementation((warning) => void warnings.push(String(warning)))
  afterEach(() => void warnings.splice(0))

  const fault = new Error('a listener’s own fault')
  const throwing = () => {
    throw fault
  }
  // Typed as the listener it will be taken for: an async function passes for one.
  const rejecting: () => unknown = () => Promise.reject(fault)

  test.each([
    ['throws', throwing],
    ['rejects', rejecting],
  ])('F10: a listener and a logger that %s change nothing', async (_how, faulty) => {
    const { fence, broker, events } = sectionWorld(kind, { logger: { warn: faulty } })
    fence.on('release-failed', faulty)
    const heard: unknown[] = []
    fence.on('release-failed', (event) => heard.push(event))
    broker.onRelease = () => Promise.reject(unconfirmed)
    const unhandled = await unhandledRejections(async () => {
      expect(await fence.run('a', () => 'done')).toBe('done')
    })
    expect(unhandled).toEqual([])
    expect(heard).toEqual([{ key: 'a', token: 101n, error: unconfirmed }])
    expect(events).toHaveLength(1)
    expect(warnings).toEqual(Array(2).fill(expect.stringContaining('a listener’s own fault')))
  })

  test('F10: the logger hears of each event, by name, with a text', async () => {
    const lines: [object, string][] = []
    const logger = { warn: (details: object, message: string) => void lines.push([details, message]) }
    const { fence, broker } = sectionWorld(kind, { logger })
    broker.onRelease = () => Promise.reject(unconfirmed)
    await fence.run('a', () => undefined)
    await unhandledRejections(() => Promise.resolve())
    expect(lines).toEqual([
      [
        { event: 'release-failed', key: 'a', token: 101n, error: unconfirmed },
        expect.stringContaining('stays held until the lease ends'),
      ],
    ])
  })

  test('F10: a listener that was taken off hears nothing more', async () => {
    const { fence, broker } = sectionWorld(kind)
    const heard: unknown[] = []
    const off = fence.on('release-failed', (event) => heard.push(event))
    broker.onRelease = () => Promise.reject(unconfirmed)
    await unhandledRejections(() => fence.run('a', () => undefined))
    off()
    await unhandledRejections(() => fence.run('a', () => undefined))
    expect(heard).toHaveLength(1)
  })
})
