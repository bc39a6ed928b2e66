import { it } from 'vitest'
import type { Capability, ConformanceSubject } from './subject.js'
import type { ConformanceWorld } from './world.js'

/** The rules of one part of the suite, for one adapter on one database. */
export interface Suite {
  readonly subject: ConformanceSubject
  /** Valid inside a test. */
  world(): ConformanceWorld
}

/** `TICKETING_CONFORMANCE=first`: the quick run, of each adapter up to its first failure. */
const stopsAtFirst = process.env['TICKETING_CONFORMANCE'] === 'first'
const failed = new Set<string>()

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
    if (stopsAtFirst) {
      if (failed.has(suite.subject.adapter)) return context.skip()
      context.onTestFailed(({ task }) => {
        // A test that took too long tells less than one whose assertion failed, so the others still run.
        const timedOut = task.result?.errors?.some(({ message }) => message.startsWith('Test timed out'))
        if (!timedOut) failed.add(suite.subject.adapter)
      })
    }
    const reason = needs === undefined ? undefined : suite.subject.missing?.[needs]
    if (reason !== undefined) return context.skip(reason)
    await test(suite.world())
  })
}
