// @ts-check
/** `npm start`: installs what is missing, builds what changed, and runs the demo with the arguments given. */
import { requireNode } from './lib/node-version.mjs'

requireNode()
import('./lib/start.mjs').then(({ start }) => start(process.argv.slice(2)))
