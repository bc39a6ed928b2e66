// @ts-check
/** @typedef {import('./effects.js').Effect} Effect */

/**
 * @typedef {object} Package what a package of this workspace may do
 * @property {readonly string[]} imports which others of the workspace: the arrows of the architecture, one way
 * @property {Readonly<Record<string, readonly Effect[]>>} shells its leaf shells, and the effects each is there for
 */

/** @type {Readonly<Record<string, Package>>} */
export const packages = {
  protocol: {
    imports: [],
    shells: {},
  },
  client: {
    imports: ['protocol'],
    shells: {
      'node-environment.ts': ['clock', 'timers', 'random', 'network'],
    },
  },
  core: {
    imports: ['protocol', 'client'],
    shells: {
      'system-clock.ts': ['clock'],
      'drivers/answered-within.ts': ['timers'],
    },
  },
  pg: {
    imports: ['client', 'core'],
    shells: {},
  },
  knex: {
    imports: ['client', 'core'],
    shells: {},
  },
  prisma: {
    imports: ['client', 'core'],
    shells: {},
  },
  typeorm: {
    imports: ['client', 'core'],
    shells: {},
  },
  server: {
    imports: ['protocol'],
    shells: {
      'cli.ts': ['console'],
      'clock.ts': ['clock', 'timers'],
      'listener.ts': ['network'],
      'output-turn.ts': ['timers'],
      'server.ts': ['clock'],
      'single-mode.ts': ['timers'],
    },
  },
  testing: {
    imports: ['protocol', 'client', 'core'],
    shells: {
      'conformance-reporter.ts': ['console'],
      'conformance/world.ts': ['clock', 'timers'],
      'embedded-postgres.ts': ['clock', 'timers'],
      'fake-broker-tokens.ts': ['clock'],
      'fault-proxy.ts': ['network'],
      'free-port.ts': ['network'],
      'guarded-postgres.ts': ['network'],
      'scripted-broker.ts': ['clock', 'timers'],
      'vitest-global-setup.ts': ['console'],
    },
  },
}
