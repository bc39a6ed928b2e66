// @ts-check
/** `npm start` in another workspace: `node run-start.mjs <root> [arguments of the demo]`. */
import { start } from '../../lib/start.mjs'

const [root, ...args] = process.argv.slice(2)
await start(args, root)
