import { expect } from 'vitest'
import { stepsOf, withPlaceholders } from './guide.js'
import type { GuideRun } from './guide-run.js'

/**
 * Does what a guide says, in its order. Fails at the first command that ends badly, or that prints something else than
 * the guide shows.
 */
export async function follow(guide: string, run: GuideRun): Promise<void> {
  for (const step of stepsOf(guide)) {
    const finished = await run.follow(step)
    if (step.kind !== 'command' || finished === undefined) continue
    const account = `${step.script}\n${finished.stdout}${finished.stderr}`
    expect(finished.code, account).toBe(step.background ? null : 0)
    if (step.expected !== undefined) {
      expect(withPlaceholders(finished.stdout), account).toBe(withPlaceholders(step.expected))
    }
    const address = /listens on (\S+)/.exec(finished.stdout)?.[1]
    if (address !== undefined) run.set('TICKETING_ADDRESS', address)
  }
}
