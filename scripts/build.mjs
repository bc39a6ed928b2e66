// @ts-check
/** `npm run build`: installs what is missing and builds what changed. */
import { requireNode } from './lib/node-version.mjs'

requireNode()
import('./lib/prepare.mjs').then(({ prepareOnly }) => prepareOnly())
