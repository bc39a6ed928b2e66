import { AsyncLocalStorage } from 'node:async_hooks'
import { FenceError } from './fence-errors.js'

/** One running section, as the code inside it finds it. */
export interface SectionContext {
  readonly fence: object
  readonly pool: object
  readonly table: string
  readonly keys: readonly string[]
  /** What the adapter hands to the work; an adapter that needs it inside reads it from here. */
  readonly handle: unknown
  readonly outer: Frame | undefined
  /** Whether the section still runs. Work that outlives its section is no longer inside it (F9). */
  live: boolean
}

interface OutsideFrame {
  readonly outsideOf: object
  readonly outer: Frame | undefined
}

/** What an async context remembers, innermost first. */
type Frame = SectionContext | OutsideFrame

/** What makes two fences the same: the object, or the pool object and the table (F9). */
export type FenceIdentity = Pick<SectionContext, 'fence' | 'pool' | 'table'>

// Once per process, under a versioned name: the ESM and the CommonJS copy of this package share their sections.
const registry = Symbol.for('@ticketing/core/sections@1')
const shared = globalThis as { [registry]?: AsyncLocalStorage<Frame> }
const storage = (shared[registry] ??= new AsyncLocalStorage<Frame>())

/** The innermost live section that `matches`, seen from the running async context. */
export function currentSection(matches: (section: SectionContext) => boolean): SectionContext | undefined {
  for (let frame = storage.getStore(); frame !== undefined; frame = frame.outer) {
    if (!('outsideOf' in frame) && frame.live && matches(frame)) return frame
  }
  return undefined
}

/** The innermost live section on `pool`, unless the work has stepped out of it with {@link runOutside}. */
export function sectionInForce(pool: object): SectionContext | undefined {
  for (let frame = storage.getStore(); frame !== undefined; frame = frame.outer) {
    if ('outsideOf' in frame) {
      if (frame.outsideOf === pool) return undefined
    } else if (frame.live && frame.pool === pool) return frame
  }
  return undefined
}

/**
 * Runs `work` as something that does not belong to the section around it, for an adapter that refuses other connections
 * of `pool` inside one. A section started in it is still a nested one (F9).
 */
export function runOutside<R>(pool: object, work: () => R): R {
  return storage.run({ outsideOf: pool, outer: storage.getStore() }, work)
}

/**
 * Refuses a section inside a live section of the same fence (F9): its ticket would be released before the outer COMMIT,
 * and with a small pool it would wait for its own outer section.
 *
 * @throws {FenceError} `FENCE_NESTED`.
 */
export function refuseNested(fence: FenceIdentity, keys: readonly string[]): void {
  const outer = currentSection(
    (section) => section.fence === fence.fence || (section.pool === fence.pool && section.table === fence.table),
  )
  if (outer === undefined) return
  throw new FenceError(
    'FENCE_NESTED',
    'not-executed',
    `A section on ${list(keys)} was started inside a section of the same fence on ${list(outer.keys)}. Nothing was acquired ` +
      'or written by the inner one. Pass all keys to the outer section and use its transaction; savepoints are allowed inside it.',
  )
}

/** Runs the work with `section` as its innermost section. The caller ends it by setting `live` to false. */
export function runInside<R>(section: Omit<SectionContext, 'outer' | 'live'>, work: () => R): [SectionContext, R] {
  const context: SectionContext = { ...section, outer: storage.getStore(), live: true }
  return [context, storage.run(context, work)]
}

function list(keys: readonly string[]): string {
  return keys.map((key) => `"${key}"`).join(', ')
}
