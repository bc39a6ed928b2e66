// @ts-check
/** `npm test`: installs what is missing, builds what changed, runs the tests, and lists the services that were missing. */
import { requireNode } from './lib/node-version.mjs'

requireNode()
import('./lib/test.mjs').then(({ test }) => test(process.argv.slice(2)))
