import {
  invalidArgument,
  type RegisteredFence,
  registeredFence,
  registerFence,
  type SectionOptions,
} from '@ticketing/core'
import type { SectionScope } from './section-scope.js'

/** A fence as `@Fenced` and `fencedManager` find it by its name. */
export interface NamedFence extends RegisteredFence {
  run<R>(
    keys: string | readonly string[],
    options: Partial<SectionOptions>,
    work: () => R | PromiseLike<R>,
  ): Promise<Awaited<R>>
  /** What belongs to the live section of this fence that runs here. */
  scope(): SectionScope | undefined
}

const adapter = 'typeorm'
export const defaultName = 'default'

/** @throws {FenceError} `FENCE_INVALID_ARGUMENT` where the name is none, or belongs to another live DataSource. */
export function nameFence(name: string, fence: NamedFence): void {
  registerFence(adapter, name, fence)
}

/** @throws {FenceError} `FENCE_INVALID_ARGUMENT` where it is no name. */
export function checkName(name: unknown): string {
  if (typeof name === 'string' && name !== '') return name
  throw invalidArgument('name', 'must be a string that is not empty')
}

/** @throws {FenceError} `FENCE_NOT_CONFIGURED`. */
export function fenceNamed(name: string = defaultName): NamedFence {
  // Only this file registers under the adapter's name.
  return registeredFence(adapter, name) as NamedFence
}
