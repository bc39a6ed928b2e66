import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import type { Environment } from './environment.js'

/** This process's own clocks, randomness and network: the only place in the client that touches them. */
export const nodeEnvironment: Environment = {
  clock: {
    now: () => ({ monotonic: performance.now(), wall: Date.now() }),
    setTimer(milliseconds, callback) {
      const timer = setTimeout(callback, milliseconds)
      return { cancel: () => clearTimeout(timer) }
    },
    setBackgroundTimer(milliseconds, callback) {
      const timer = setTimeout(callback, milliseconds).unref()
      return { cancel: () => clearTimeout(timer) }
    },
    // The event loop polls its sockets between timers and immediates.
    afterInput(callback) {
      const immediate = setImmediate(callback)
      return { cancel: () => clearImmediate(immediate) }
    },
  },
  random: Math.random,
  randomBytes,
  openSocket: ({ host, port }) => connect({ host, port, noDelay: true }),
}
