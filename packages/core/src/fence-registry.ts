import { FenceError, invalidArgument } from './fence-errors.js'

// Once per process, under a versioned name: the ESM and the CommonJS copy of an adapter share their fences.
const registry = Symbol.for('@ticketing/core/fences@1')
const shared = globalThis as { [registry]?: Map<string, RegisteredFence> }
const fences = (shared[registry] ??= new Map<string, RegisteredFence>())

/** A fence that code finds by name, such as a decorator that runs before any fence exists. */
export interface RegisteredFence {
  /** The connection pool it belongs to. A new fence on the same pool takes the place of the old one. */
  readonly pool: object
  /** Whether it can still be used; one that cannot gives up its name. */
  isUsable(): boolean
}

/**
 * Makes a fence known under a name.
 *
 * @param adapter - names are unique within one adapter.
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT` where a usable fence on another pool has the name.
 */
export function registerFence(adapter: string, name: string, fence: RegisteredFence): void {
  const id = `${adapter} ${name}`
  const earlier = fences.get(id)
  if (earlier !== undefined && earlier.pool !== fence.pool && earlier.isUsable()) {
    throw invalidArgument('name', `"${name}" belongs to a fence on another connection pool; give this one its own name`)
  }
  fences.set(id, fence)
}

/** @throws {FenceError} `FENCE_NOT_CONFIGURED` where no fence has the name. */
export function registeredFence(adapter: string, name: string): RegisteredFence {
  const fence = fences.get(`${adapter} ${name}`)
  if (fence !== undefined) return fence
  throw new FenceError(
    'FENCE_NOT_CONFIGURED',
    'not-executed',
    `There is no ${adapter} fence with the name "${name}" in this process. Nothing was acquired or written. Make one ` +
      'when the application starts, before the first call that needs it.',
  )
}
