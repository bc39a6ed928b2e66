// @ts-check
/** `npm test` in another workspace: `node run-test.mjs <root> [arguments of the tests]`. */
import { test } from '../../lib/test.mjs'

const [root, ...args] = process.argv.slice(2)
await test(args, root)
