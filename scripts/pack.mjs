// @ts-check
/** `npm run pack`: builds, and packs the packages as the registry would hand them out. */
import { requireNode } from './lib/node-version.mjs'

requireNode()
import('./lib/pack.mjs').then(({ packCommand }) => packCommand())
