import { it } from 'vitest'
import type { Capability, ConformanceSubject } from './subject.js'
import type { ConformanceWorld } from './world.js'

/** The rules of one part of the suite, for one adapter on one database. */
export interface Suite {
  readonly subject: ConformanceSubject
  /** Valid inside a test. */
  world(): ConformanceWorld
}

/**
 * One test. Its title begins with the ids of the rules that it proves, which the matrix reads.
 *
 * @param needs - where the adapter lacks it, the test is skipped with the adapter's reason.
 */
export function rule(
  suite: Suite,
  ids: string,
  title: string,
  test: (world: ConformanceWorld) => Promise<unknown>,
  needs?: Capability,
): void {
  it(`${ids}: ${title}`, async (context) => {
    const reason = needs === undefined ? undefined : suite.subject.missing?.[needs]
    if (reason !== undefined) return context.skip(reason)
    await test(suite.world())
  })
}
