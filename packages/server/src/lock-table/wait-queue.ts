import { type Due, notInHeap } from './deadline-heap.js'

/** One queued acquire. It is due when its wait ends. */
export class Waiter<S> implements Due {
  readonly session: S
  readonly owner: string
  readonly key: string
  readonly leaseSeconds: number
  dueAt: number
  heapIndex = notInHeap
  /** Its neighbours in the queue of its key. Only the queue writes them. */
  previous: Waiter<S> | undefined = undefined
  next: Waiter<S> | undefined = undefined

  constructor(session: S, owner: string, key: string, leaseSeconds: number, dueAt: number) {
    this.session = session
    this.owner = owner
    this.key = key
    this.leaseSeconds = leaseSeconds
    this.dueAt = dueAt
  }
}

/** The waiters of one key, first come, first served. Any of them leaves in O(1). */
export class WaitQueue<S> {
  #head: Waiter<S> | undefined
  #tail: Waiter<S> | undefined
  #length = 0

  get length(): number {
    return this.#length
  }

  /** The waiter whose turn it is. */
  get head(): Waiter<S> | undefined {
    return this.#head
  }

  append(waiter: Waiter<S>): void {
    waiter.previous = this.#tail
    if (this.#tail === undefined) this.#head = waiter
    else this.#tail.next = waiter
    this.#tail = waiter
    this.#length++
  }

  /** Takes out a waiter that is in this queue. */
  remove(waiter: Waiter<S>): void {
    const { previous, next } = waiter
    if (previous === undefined) this.#head = next
    else previous.next = next
    if (next === undefined) this.#tail = previous
    else next.previous = previous
    waiter.previous = undefined
    waiter.next = undefined
    this.#length--
  }
}
