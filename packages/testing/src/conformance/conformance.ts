import { afterAll, beforeAll, beforeEach, describe } from 'vitest'
import type { DatabaseTarget } from '../database-fixture.js'
import { databaseTargets } from '../vitest.js'
import { boundRules } from './bound-rules.js'
import { cancelRules } from './cancel-rules.js'
import { claimRules } from './claim-rules.js'
import { connectionRules } from './connection-rules.js'
import { contentionRules } from './contention-rules.js'
import { libraryRules, libraryTimeRules } from './library-rules.js'
import { oneTransactionRules } from './one-transaction-rules.js'
import { ownTransactionRules } from './own-transaction-rules.js'
import { deadlockRules, retryRules } from './retry-rules.js'
import { schemaRules } from './schema-rules.js'
import { sectionRules } from './section-rules.js'
import { severalKeysRules } from './several-keys-rules.js'
import { type ConformanceSubject, levels } from './subject.js'
import type { Suite } from './suite.js'
import { conformanceTitle } from './title.js'
import { transactionRules } from './transaction-rules.js'
import { ConformanceWorld } from './world.js'

/**
 * The environment variable that confines a run to one server and one isolation level: `TICKETING_CONFORMANCE=quick`. With
 * `first` each adapter stops at its first failure besides.
 */
const quickVariable = 'TICKETING_CONFORMANCE'

/**
 * The conformance suite: what every adapter of the fence must hold, on every server that `databaseTargets` finds, at each
 * isolation level. Call it from a test file of its own.
 */
export function fenceConformance(subject: ConformanceSubject): void {
  const quick = ['quick', 'first'].includes(process.env[quickVariable] ?? '')
  describe(`${conformanceTitle}${subject.adapter}`, () => {
    const targets = databaseTargets()
    const wanted = subject.levels ?? levels
    for (const target of quick ? targets.slice(0, 1) : targets) {
      for (const level of quick ? wanted.slice(0, 1) : wanted) {
        describe(`${target.name}, ${level}`, () => {
          const suite = suiteOn(subject, target, level)
          oneTransactionRules(suite)
          claimRules(suite)
          sectionRules(suite)
          severalKeysRules(suite)
          retryRules(suite)
          cancelRules(suite)
          libraryRules(suite)
          transactionRules(suite)
          connectionRules(suite)
          boundRules(suite)
          ownTransactionRules(suite)
          // What the level does not change is tried at the first one.
          if (level !== wanted[0]) return
          schemaRules(suite)
          contentionRules(suite)
          deadlockRules(suite)
          // Nor does the server change what a library does.
          if (target === targets[0]) libraryTimeRules(suite)
        })
      }
    }
  })
}

function suiteOn(subject: ConformanceSubject, target: DatabaseTarget, level: string): Suite {
  let world: ConformanceWorld
  beforeAll(async () => {
    world = await ConformanceWorld.create(subject, target, level)
  })
  beforeEach(() => world.reset())
  afterAll(() => world[Symbol.asyncDispose]())
  return { subject, world: () => world }
}
