// @ts-check
/**
 * What the deciding parts must not touch, by kind. A leaf shell is allowed the kinds it is listed with in shells.js.
 *
 * @typedef {'clock' | 'timers' | 'random' | 'network' | 'console'} Effect
 *
 * @typedef {object} Traces how an effect shows in a source
 * @property {readonly string[]} [globals]
 * @property {readonly { object: string, property: string }[]} [properties]
 * @property {readonly string[]} [syntax] selectors
 * @property {readonly string[]} [modules]
 */

/** @type {Record<Effect, Traces>} */
export const effects = {
  clock: {
    properties: [
      { object: 'Date', property: 'now' },
      { object: 'performance', property: 'now' },
      { object: 'performance', property: 'timeOrigin' },
      { object: 'process', property: 'hrtime' },
      { object: 'process', property: 'uptime' },
    ],
    // `new Date(milliseconds)` decides nothing by itself.
    syntax: ["NewExpression[callee.name='Date'][arguments.length=0]", "CallExpression[callee.name='Date']"],
    modules: ['node:perf_hooks', 'perf_hooks'],
  },
  timers: {
    globals: ['setTimeout', 'setInterval', 'setImmediate'],
    modules: ['node:timers', 'timers', 'node:timers/promises', 'timers/promises'],
  },
  random: {
    properties: [{ object: 'Math', property: 'random' }],
  },
  network: {
    modules: ['node:net', 'net', 'node:tls', 'tls'],
  },
  console: {
    globals: ['console'],
    properties: [
      { object: 'process', property: 'stdout' },
      { object: 'process', property: 'stderr' },
    ],
    modules: ['node:console', 'console'],
  },
}
