import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { parseAddress } from '@ticketing/protocol'
import { onTestFinished } from 'vitest'
import type { Logger, ServerOptions } from '../src/index.js'
import { type ServerSurroundings, startServerIn } from '../src/server.js'
import { ManualClock } from './manual-clock.js'
import { type ConnectionOptions, RawClient } from './raw-client.js'

export interface TestServer {
  readonly address: string
  readonly clock: ManualClock
  /** The server's side of the connections, in the order in which they were accepted. */
  readonly sockets: readonly Socket[]
  /** What was logged, as `level: message`. */
  readonly log: string[]
  close(): Promise<void>
  /** A connection before its handshake. */
  open(options?: ConnectionOptions): RawClient
  /** A session after its handshake. */
  join(secret?: string): Promise<RawClient>
}

/** A real listener on a free port under a manual clock. The end of the test closes it and all connections. */
export async function startTestServer(
  options: ServerOptions = {},
  around: Partial<ServerSurroundings> = {},
): Promise<TestServer> {
  const clock = new ManualClock()
  const log: string[] = []
  const logger: Logger = {
    info: (_fields, message) => log.push(`info: ${message}`),
    warn: (_fields, message) => log.push(`warn: ${message}`),
    error: (_fields, message) => log.push(`error: ${message}`),
  }
  const surroundings = { clock, unixMilliseconds: 1, ...around }
  const server = await startServerIn(surroundings, { listen: '127.0.0.1:0', logger, ...options })
  const clients: RawClient[] = []
  const sockets: Socket[] = []
  const port = parseAddress(server.address)?.port
  const onSocket = (message: unknown) => {
    const { socket } = message as { socket: Socket }
    if (socket.localPort === port) sockets.push(socket)
  }
  subscribe('net.server.socket', onSocket)
  const open = (connection?: ConnectionOptions) => {
    const client = new RawClient(server.address, connection)
    clients.push(client)
    return client
  }
  onTestFinished(async () => {
    unsubscribe('net.server.socket', onSocket)
    for (const { socket } of clients) socket.destroy()
    await server.close()
  })
  const join = async (secret?: string) => {
    const client = open()
    const first = await client.shakeHands(secret)
    if (first.type !== 'leader') throw new Error(`No session: ${JSON.stringify(first)}.`)
    return client
  }
  return { address: server.address, clock, sockets, log, close: () => server.close(), open, join }
}
