import { createServer, type Server, type Socket } from 'node:net'
import { type Address, encodeFrame, formatAddress } from '@ticketing/protocol'
import { ClientSession, lingerSeconds, type SessionSurroundings } from './client-session.js'
import { ServerError } from './server-error.js'

/** Connections past `sessionsMax` that may be open at one time to be told so; more are closed without a word. */
const refusalsMax = 1024

export interface ListenerLimits {
  readonly sessionsMax: number
  readonly sessionsPerAddressMax: number
}

/** Accepts connections and makes each a session, within the limits (S6). */
export class Listener {
  readonly #limits: ListenerLimits
  readonly #shared: SessionSurroundings
  readonly #server: Server
  readonly #sessions = new Set<ClientSession>()
  readonly #sessionsOf = new Map<string, number>()
  #closing: Promise<void> | undefined

  constructor(limits: ListenerLimits, shared: SessionSurroundings) {
    this.#limits = limits
    this.#shared = shared
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket))
    this.#server.maxConnections = limits.sessionsMax + refusalsMax
  }

  /**
   * Starts listening.
   *
   * @returns The address that was really bound.
   * @throws {ServerError} `SERVER_LISTEN_FAILED`.
   */
  async listen(address: Address): Promise<Address> {
    await new Promise<void>((resolve, reject) => {
      const fail = (cause: NodeJS.ErrnoException) => reject(listenFailed(address, cause))
      this.#server.once('error', fail)
      this.#server.listen({ host: address.host, port: address.port }, () => {
        this.#server.off('error', fail)
        this.#server.on('error', (error) => this.#shared.logger.error({ error: error.message }, 'listener failed'))
        resolve()
      })
    })
    const bound = this.#server.address()
    if (bound === null || typeof bound === 'string') throw new Error('A TCP listener has no port.')
    return { host: bound.address, port: bound.port }
  }

  /** Stops listening, tells every session, and is done at the latest `lingerSeconds` later. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll()
    return this.#closing
  }

  async #closeAll(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    // Whoever is refused or ended, now or before, is cut off after the time to linger.
    for (const session of this.#sessions) session.end('shutting_down')
    await closed
  }

  #accept(socket: Socket): void {
    const address = socket.remoteAddress
    if (address === undefined) {
      socket.destroy() // It has left again already.
      return
    }
    const fromAddress = this.#sessionsOf.get(address) ?? 0
    if (this.#sessions.size >= this.#limits.sessionsMax || fromAddress >= this.#limits.sessionsPerAddressMax) {
      this.#refuse(socket, address)
    } else {
      this.#open(socket, address, fromAddress)
    }
  }

  #open(socket: Socket, address: string, fromAddress: number): void {
    const session = new ClientSession(socket, this.#shared)
    this.#sessions.add(session)
    this.#sessionsOf.set(address, fromAddress + 1)
    socket.on('close', () => {
      this.#sessions.delete(session)
      const left = (this.#sessionsOf.get(address) as number) - 1
      if (left === 0) this.#sessionsOf.delete(address)
      else this.#sessionsOf.set(address, left)
    })
  }

  #refuse(socket: Socket, address: string): void {
    const { clock, logger } = this.#shared
    logger.warn({ address, sessions: this.#sessions.size }, 'session refused: too many sessions')
    const timer = clock.setTimer(lingerSeconds * 1000, () => socket.destroy())
    socket.on('error', () => {})
    socket.on('close', () => clock.clearTimer(timer))
    socket.resume()
    socket.end(encodeFrame({ type: 'error', reason: 'too_many_sessions' }))
  }
}

function listenFailed(address: Address, cause: NodeJS.ErrnoException): ServerError {
  const where = formatAddress(address)
  const why =
    cause.code === 'EADDRINUSE'
      ? 'something else listens there already (EADDRINUSE). Stop it, or choose another port'
      : `${cause.message}. Choose an address of this machine and a port that this user may open`
  return new ServerError('SERVER_LISTEN_FAILED', `Cannot listen on ${where}: ${why}. No server was started.`, { cause })
}
