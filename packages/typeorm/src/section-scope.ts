import { currentSection, type SectionTicket } from '@ticketing/core'
import type { EntityManager } from 'typeorm'

/** What a section hands to its work, as code inside it finds it. */
export interface SectionScope {
  readonly manager: EntityManager
  readonly ticket: SectionTicket
  /** The name of the section's fence. */
  readonly name: string
}

// On the manager itself, since the ESM and the CommonJS copy of this package may meet in one section.
const scopeKey = Symbol.for('@ticketing/typeorm/scope@1')

type ScopedManager = EntityManager & { [scopeKey]?: SectionScope }

export function openScope(scope: SectionScope): void {
  Object.defineProperty(scope.manager, scopeKey, { value: scope })
}

/** The scope of the innermost live section on this pool whose fence has this name. */
export function currentScope(pool: object, name: string): SectionScope | undefined {
  const scopeOf = (handle: unknown) => (handle as ScopedManager)[scopeKey]
  const section = currentSection((section) => section.pool === pool && scopeOf(section.handle)?.name === name)
  return section === undefined ? undefined : scopeOf(section.handle)
}
