import { type Address, formatAddress, parseAddress } from '@ticketing/protocol'
import { type Clock, systemClock } from './clock.js'
import { readConfig, type ServerOptions } from './config.js'
import { Listener } from './listener.js'
import { tokenSeed } from './lock-table/token-sequence.js'
import { silentLogger } from './logger.js'
import { OutputTurn } from './output-turn.js'
import { ServerError } from './server-error.js'
import type { ServingMode } from './serving-mode.js'
import { SingleMode } from './single-mode.js'

/** A server that listens. */
export interface TicketingServer {
  /** The address that was really bound, `host:port`. */
  readonly address: string
  /**
   * Stops listening, tells every session `shutting_down`, and closes. It takes at most two seconds, whatever clients
   * do, and never rejects; called again, it waits for the same end.
   */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** What a server takes from its process. Tests put their own in place. */
export interface ServerSurroundings {
  readonly clock: Clock
  /** The wall clock, for the first token (S10). */
  readonly unixMilliseconds: number
  /** Lets a test stand between the sessions and the mode. */
  readonly aroundMode?: (mode: ServingMode) => ServingMode
}

/**
 * Starts a server in single mode, in memory. Holders are forgotten when it stops: afterwards only the fence protects
 * (S10).
 *
 * @throws {ServerError} `SERVER_INVALID_OPTION`, `SERVER_LISTEN_FAILED` or `SERVER_TOKENS_EXHAUSTED`. No server was
 * started then.
 */
export async function startServer(options: ServerOptions = {}): Promise<TicketingServer> {
  return await startServerIn({ clock: systemClock, unixMilliseconds: Date.now() }, options)
}

/** As {@link startServer}, in surroundings of the caller's. */
export async function startServerIn(around: ServerSurroundings, options: ServerOptions): Promise<TicketingServer> {
  const config = readConfig(options)
  const logger = options.logger ?? silentLogger
  const single = new SingleMode(around.clock, config, firstToken(around.unixMilliseconds))
  const mode = around.aroundMode?.(single) ?? single
  const { clock } = around
  const listener = new Listener(config, { ...config, mode, clock, logger, outputTurn: new OutputTurn() })
  try {
    const bound = await listener.listen(parseAddress(config.listen) as Address)
    if (config.clientTokens.length === 0 && !isLoopback(bound.host)) {
      logger.warn(
        { address: formatAddress(bound) },
        'no client tokens: everyone who can reach this address can take and release locks',
      )
    }
    const close = async () => {
      await listener.close()
      mode.close()
    }
    return { address: formatAddress(bound), close, [Symbol.asyncDispose]: close }
  } catch (error) {
    mode.close()
    throw error
  }
}

function firstToken(unixMilliseconds: number): bigint {
  try {
    return tokenSeed(0n, unixMilliseconds)
  } catch (cause) {
    const text = `${(cause as Error).message} Set the clock right. No server was started.`
    throw new ServerError('SERVER_TOKENS_EXHAUSTED', text, { cause })
  }
}

function isLoopback(host: string): boolean {
  return host === '::1' || /^(::ffff:)?127\./.test(host)
}
