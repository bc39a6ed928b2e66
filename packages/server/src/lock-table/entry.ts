import { type DeadlineHeap, type Due, notInHeap } from './deadline-heap.js'
import { type Waiter, WaitQueue } from './wait-queue.js'

/**
 * A registered key: its holder and its queue. It is due when the holder's lease ends, which is `Infinity` from the
 * decision until the grant is handed out (S9): a grant that nobody has seen does not expire.
 */
export class Entry<S> implements Due {
  readonly key: string
  token = 0n
  leaseSeconds = 0
  dueAt = Number.POSITIVE_INFINITY
  heapIndex = notInHeap
  /** The heap that holds this entry. Only the lock table writes it. */
  heap: DeadlineHeap<Entry<S>> | undefined = undefined
  #queue: WaitQueue<S> | undefined

  constructor(key: string) {
    this.key = key
  }

  /** Whether the grant was handed out, so that its lease runs. */
  get leaseRuns(): boolean {
    return this.dueAt !== Number.POSITIVE_INFINITY
  }

  /** Made for the first waiter: most keys never have one, and there may be a million keys. */
  get queue(): WaitQueue<S> {
    this.#queue ??= new WaitQueue()
    return this.#queue
  }

  get waiterCount(): number {
    return this.#queue === undefined ? 0 : this.#queue.length
  }

  get firstWaiter(): Waiter<S> | undefined {
    return this.#queue?.head
  }
}
