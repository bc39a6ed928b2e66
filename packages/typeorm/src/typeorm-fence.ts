import {
  createFence,
  type Fence,
  type FenceOptions,
  runOutside,
  type SectionDefaults,
  type SectionOptionsFor,
  type SectionWork,
} from '@ticketing/core'
import { checkPrepare, type PreparedClaimOptions } from '@ticketing/core/pg-driver'
import type { DataSource, EntityManager } from 'typeorm'
import { checkName, defaultName, type NamedFence, nameFence } from './named-fences.js'
import { announceCommit } from './section-runner.js'
import { currentScope, openScope } from './section-scope.js'
import { TypeOrmHost } from './typeorm-host.js'

export interface TypeOrmFenceOptions<Defaults extends SectionDefaults = SectionDefaults>
  extends FenceOptions<Defaults>,
    PreparedClaimOptions {
  /** What `@Fenced` and `fencedManager` find it by; a process with one fence needs none. */
  readonly name?: string | undefined
}

/** A fence on a DataSource: its work gets an `EntityManager`. */
export interface TypeOrmFence<Defaults extends SectionDefaults = SectionDefaults>
  extends Fence<EntityManager, Defaults> {
  /**
   * Runs what does not belong to the section around it, such as a log entry that must stay if the section rolls back. In
   * it the DataSource's own connections are not refused; each is one more connection of the pool. It is not fenced.
   */
  outside<R>(work: () => R): R
}

/**
 * Makes a fence on a DataSource of the type `postgres` and registers it for `@Fenced`. The DataSource may be initialized
 * later. Nothing is sent until the first section.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT`; also where the name belongs to another live DataSource.
 */
export function typeormFence<const Defaults extends SectionDefaults = {}>(
  dataSource: DataSource,
  options: TypeOrmFenceOptions<Defaults>,
): TypeOrmFence<Defaults> {
  const host = new TypeOrmHost(dataSource, { prepare: checkPrepare(options) })
  const fence = createFence<EntityManager, Defaults>(host, options, { optionNames: ['name', 'prepare'] })
  const name = checkName(options.name ?? defaultName)

  /** The work, in whose transaction the subscribers of TypeORM still take part before it ends. */
  const scoped =
    <R>(work: SectionWork<EntityManager, R>): SectionWork<EntityManager, R> =>
    async (manager, ticket) => {
      openScope({ manager, ticket, name })
      const result = await work(manager, ticket)
      await announceCommit(manager)
      return result
    }
  const withScope =
    (run: (...args: never[]) => Promise<unknown>) =>
    (...args: readonly unknown[]) =>
      run(...(args.map((arg) => (typeof arg === 'function' ? scoped(arg as Work) : arg)) as never[]))

  const scopedFence = {
    ...fence,
    run: withScope(fence.run),
    runWith: withScope(fence.runWith),
    outside: (work: () => unknown) => runOutside(host.pool, work),
  } as TypeOrmFence<Defaults>

  const named: NamedFence = {
    get pool() {
      return host.pool
    },
    isUsable: () => host.usable,
    run: (keys, options, work) => scopedFence.run(keys, options as SectionOptionsFor<Defaults>, work),
    scope: () => currentScope(host.pool, name),
  }
  nameFence(name, named)
  return scopedFence
}

type Work = SectionWork<EntityManager, unknown>
