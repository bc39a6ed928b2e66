import { createFence, type FenceEventName, type FenceOptions, type SectionDefaults } from '../../src/index.js'
import { FakeDatabase } from './fake-database.js'
import { ManualBroker } from './manual-broker.js'
import { ManualTime } from './manual-time.js'
import { type HostKind, RecordingHost } from './recording-host.js'

export const defaults = { wait: 5, lease: 10, minWork: 2 } as const

/** A fence with everything around it under the test's control, and one journal of all that happens, in order. */
export function sectionWorld(kind: HostKind, options: Partial<FenceOptions<SectionDefaults>> = {}) {
  const journal: string[] = []
  const time = new ManualTime()
  const broker = new ManualBroker(time, journal)
  const database = new FakeDatabase(journal)
  const host = new RecordingHost(kind, database)
  const fence = createFence(host, { broker, defaults, ...options } as FenceOptions<typeof defaults>, {
    clock: time.now,
  })
  const events: { readonly name: FenceEventName; readonly event: unknown }[] = []
  const names = ['release-failed', 'retry', 'connection-destroyed', 'late-failure'] as const
  for (const name of names) fence.on(name, (event) => events.push({ name, event }))
  /** The journal from the connection on, up to its return: what the database saw. */
  const sent = () => journal.filter((step) => !/^(acquire|release|handle ends)/.test(step))
  return { journal, time, broker, database, host, fence, events, sent }
}

/** The check before COMMIT costs a query only where the driver shows no status. */
export function identityCheck({ evidence }: HostKind): string[] {
  return evidence === 'identity' ? ['identity'] : []
}
