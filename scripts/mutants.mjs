// @ts-check
/** `npm run mutants`: shows that the conformance suite sees each fault it is there for; arguments name some of them. */
import { requireNode } from './lib/node-version.mjs'

requireNode()
import('./lib/mutants.mjs').then(({ runMutants }) => runMutants(process.argv.slice(2)))
