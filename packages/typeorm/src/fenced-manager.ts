import { FenceError, type SectionTicket } from '@ticketing/core'
import type { EntityManager, EntityTarget, ObjectLiteral, Repository } from 'typeorm'
import { fenceNamed } from './named-fences.js'
import type { SectionScope } from './section-scope.js'

/**
 * The manager of the section that runs here, in the method or in anything it calls.
 *
 * @param name - the fence's, where it was made with one.
 * @throws {FenceError} `FENCE_NO_SECTION`, `FENCE_NOT_CONFIGURED`.
 */
export function fencedManager(name?: string): EntityManager {
  return scopeHere('fencedManager', name).manager
}

/**
 * A repository on the manager of the section that runs here.
 *
 * @param name - the fence's, where it was made with one.
 * @throws {FenceError} `FENCE_NO_SECTION`, `FENCE_NOT_CONFIGURED`.
 */
export function fencedRepository<Entity extends ObjectLiteral>(
  target: EntityTarget<Entity>,
  name?: string,
): Repository<Entity> {
  return scopeHere('fencedRepository', name).manager.getRepository(target)
}

/**
 * The ticket of the section that runs here: its token for what lies outside the database, the time left, its signal.
 *
 * @param name - the fence's, where it was made with one.
 * @throws {FenceError} `FENCE_NO_SECTION`, `FENCE_NOT_CONFIGURED`.
 */
export function fencedTicket(name?: string): SectionTicket {
  return scopeHere('fencedTicket', name).ticket
}

function scopeHere(caller: string, name: string | undefined): SectionScope {
  const scope = fenceNamed(name).scope()
  if (scope !== undefined) return scope
  throw new FenceError(
    'FENCE_NO_SECTION',
    'not-executed',
    `${caller} was called outside a section of its fence, or after the section had ended. Nothing was sent. Call it in ` +
      'a method with @Fenced or in the work of fence.run, and await all work there.',
  )
}
