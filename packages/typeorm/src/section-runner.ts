import { FenceError, invalidArgument } from '@ticketing/core'
import type { NativePgClient } from '@ticketing/core/pg-driver'
import type { EntityManager, QueryRunner } from 'typeorm'
import { driverErrorOf, transactionDepthOf } from './typeorm-driver.js'

type Step = () => Promise<void>
type AnyAsync = (...args: unknown[]) => Promise<unknown>

/** How the section itself ends the transaction of its runner. */
export interface RunnerEndings {
  readonly commit: Step
  readonly rollback: Step
}

const beforeCommit = 'BeforeTransactionCommit'

/** Tells TypeORM's subscribers that the work is done, while what they write is still part of the section. */
export async function announceCommit(manager: EntityManager): Promise<void> {
  await manager.queryRunner?.broadcaster.broadcast(beforeCommit)
}

/**
 * Binds a fresh runner to the section's client. It never takes a connection of its own and has none to give back, and
 * it refuses to end the section's transaction; savepoints (`manager.transaction`) are allowed.
 */
export function bindRunner(runner: QueryRunner, client: NativePgClient): RunnerEndings {
  const commit = runner.commitTransaction.bind(runner)
  const rollback = runner.rollbackTransaction.bind(runner)
  const query = runner.query.bind(runner) as AnyAsync
  Object.assign(runner, {
    connect: () => Promise.resolve(client),
    release: () => refuse('release', 'the section gives its connection back itself'),
    commitTransaction: () => endSavepoint(runner, 'commitTransaction', commit),
    rollbackTransaction: () => endSavepoint(runner, 'rollbackTransaction', rollback),
    async query(...args: unknown[]) {
      try {
        return await query(...args)
      } catch (error) {
        // TypeORM wraps whatever its driver throws; a refusal of the fence reaches the work as it is.
        const inner = driverErrorOf(error)
        throw inner instanceof FenceError ? inner : error
      }
    },
  })
  return {
    rollback,
    async commit() {
      const { broadcaster } = runner
      const broadcast = broadcaster.broadcast.bind(broadcaster) as AnyAsync
      // Announced already; nothing that a subscriber sends may come between the last check and COMMIT.
      const rest: AnyAsync = async (event, ...args) => event !== beforeCommit && (await broadcast(event, ...args))
      Object.assign(broadcaster, { broadcast: rest })
      await commit()
    },
  }
}

function endSavepoint(runner: QueryRunner, name: string, end: Step): Promise<void> {
  // Where TypeORM does not tell the depth, the statement goes out and F12 finds what it did.
  if ((transactionDepthOf(runner) ?? Number.POSITIVE_INFINITY) > 1) return end()
  return refuse(name, 'the section ends its transaction itself: return to commit, throw to roll back')
}

function refuse(name: string, fault: string): Promise<never> {
  return Promise.reject(invalidArgument(`queryRunner.${name}`, fault))
}
