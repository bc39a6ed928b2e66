#!/usr/bin/env node
import { createRequire } from 'node:module'
import { CommanderError } from 'commander'
import { readCommandLine } from './command-line.js'
import type { ServerConfig } from './config.js'
import { startServer } from './server.js'
import { ServerError } from './server-error.js'
import { closeOnSignal } from './shutdown.js'

const { version } = createRequire(import.meta.url)('../package.json') as { version: string }

function readConfigOrExit(): ServerConfig {
  try {
    return readCommandLine(process.argv.slice(2), process.env, version)
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    // Commander has already written what there is to say.
    process.exit(error.exitCode === 0 ? 0 : 2)
  }
}

const config = readConfigOrExit()
// Loaded only now, so that help, version and mistakes answer without it.
const { destination, pino } = await import('pino')
const logger = pino({ name: 'ticketing-server' }, destination({ fd: 2, sync: true }))
try {
  const server = await startServer({ ...config, logger })
  closeOnSignal(server, logger, process)
  process.stdout.write(`ticketing-server listens on ${server.address}\n`)
} catch (error) {
  if (!(error instanceof ServerError)) throw error
  process.stderr.write(`error: ${error.message}\n`)
  process.exitCode = 1
}
