import fc from 'fast-check'
import { expect, it } from 'vitest'
import { DeadlineHeap, type Due, notInHeap } from '../src/lock-table/deadline-heap.js'
import { runs } from './random-runs.js'

const dueAt = fc.integer({ min: 0, max: 1000 })
const operation = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('add' as const), dueAt }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'take first' as const }) },
)

it('S7: the heap always gives the earliest, and nothing that was removed stays in it', () => {
  const initial = fc.array(dueAt, { minLength: 30, maxLength: 100, size: 'max' })
  fc.assert(
    fc.property(initial, fc.array(operation, { maxLength: 200, size: 'max' }), (dues, operations) => {
      const heap = new DeadlineHeap<Due>()
      const items: Due[] = []
      const add = (due: number) => {
        const item = { dueAt: due, heapIndex: notInHeap }
        items.push(item)
        heap.add(item)
      }
      const remove = (item: Due) => {
        heap.remove(item)
        items.splice(items.indexOf(item), 1)
        expect(item.heapIndex).toBe(notInHeap)
      }
      dues.forEach(add)
      for (const step of operations) {
        const item = step.kind === 'remove' ? items[step.pick % items.length] : heap.first
        if (step.kind === 'add') add(step.dueAt)
        else if (item !== undefined) remove(item)
        expect(heap.size).toBe(items.length)
        expect(heap.firstDueAt).toBe(Math.min(Number.POSITIVE_INFINITY, ...items.map((other) => other.dueAt)))
      }
      const drained: number[] = []
      for (let item = heap.first; item !== undefined; item = heap.first) {
        drained.push(item.dueAt)
        remove(item)
      }
      expect(drained).toEqual(drained.toSorted((a, b) => a - b))
      expect(heap.firstDueAt).toBe(Number.POSITIVE_INFINITY)
    }),
    runs(300),
  )
})
