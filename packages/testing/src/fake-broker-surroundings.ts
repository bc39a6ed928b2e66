import type { FakeClock } from './fake-broker-clock.js'
import type { WriteEvent } from './fake-broker-log.js'
import type { FakeNetwork } from './fake-broker-network.js'
import type { FakeTable } from './fake-broker-table.js'
import type { FakeTicket } from './fake-broker-ticket.js'

/** What the acquires and tickets of one fake broker share. */
export interface FakeSurroundings {
  readonly clock: FakeClock
  readonly network: FakeNetwork
  readonly table: FakeTable
  readonly write: WriteEvent
  /** Ends what is pending when the broker is closed; undefined once it is. */
  readonly lifecycle: { pending: Set<() => void> | undefined }
  /** The tickets that were handed out, by token. */
  readonly tickets: Map<bigint, FakeTicket>
}
