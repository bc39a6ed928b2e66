/** Something that falls due. It knows its place in its heap, so that it can be taken out without a search. */
export interface Due {
  /** The moment it falls due, in monotonic milliseconds. Must not change while it is in a heap. */
  dueAt: number
  /** Its place in the heap that holds it, or {@link notInHeap}. Only the heap writes it. */
  heapIndex: number
}

export const notInHeap = -1

/**
 * A binary min-heap by `dueAt`. Adding and removing take O(log n), also from the middle: what no longer counts leaves at
 * once, so the heap never grows past what is really due.
 */
export class DeadlineHeap<T extends Due> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  /** The item that falls due first. */
  get first(): T | undefined {
    return this.#items[0]
  }

  /** When the first item falls due; `Infinity` for an empty heap. */
  get firstDueAt(): number {
    return this.#items[0]?.dueAt ?? Number.POSITIVE_INFINITY
  }

  add(item: T): void {
    this.#rise(item, this.#items.length)
  }

  /** Takes out an item that is in this heap. */
  remove(item: T): void {
    const hole = item.heapIndex
    const last = this.#items.pop() as T
    item.heapIndex = notInHeap
    if (last === item) return
    const parent = this.#items[(hole - 1) >> 1]
    if (hole > 0 && (parent as T).dueAt > last.dueAt) this.#rise(last, hole)
    else this.#sink(last, hole)
  }

  /** Puts `item` at `index` or, past all parents that fall due later, above it. */
  #rise(item: T, index: number): void {
    const items = this.#items
    let at = index
    while (at > 0) {
      const parentAt = (at - 1) >> 1
      const parent = items[parentAt] as T
      if (parent.dueAt <= item.dueAt) break
      this.#put(parent, at)
      at = parentAt
    }
    this.#put(item, at)
  }

  /** Puts `item` at `index` or, past all children that fall due earlier, below it. */
  #sink(item: T, index: number): void {
    const items = this.#items
    let at = index
    for (;;) {
      let childAt = 2 * at + 1
      let child = items[childAt]
      if (child === undefined) break
      const right = items[childAt + 1]
      if (right !== undefined && right.dueAt < child.dueAt) {
        child = right
        childAt++
      }
      if (child.dueAt >= item.dueAt) break
      this.#put(child, at)
      at = childAt
    }
    this.#put(item, at)
  }

  #put(item: T, at: number): void {
    this.#items[at] = item
    item.heapIndex = at
  }
}
