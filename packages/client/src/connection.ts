import type { Duplex } from 'node:stream'
import {
  type Address,
  type ClientFrame,
  encodeDigest,
  FrameEncoder,
  FrameParser,
  formatAddress,
  HandshakeLine,
  handshakeDigest,
  handshakeSecondsMax,
  parseGreeting,
  type ServerFrame,
} from '@ticketing/protocol'
import { setDeadline } from './deadline.js'
import type { Clock, Environment, Timer } from './environment.js'
import { retiredSecondsMax } from './limits.js'
import { Session, type SessionOutput } from './session.js'
import { closedHere, connectionLost, protocolBroken, refusedByServer, type SessionEnd } from './session-end.js'

/** What a connection tells about its session. */
export interface ConnectionListener {
  roleChanged(): void
  strayGrant(key: string, token: bigint): void
  ended(end: SessionEnd): void
}

/** How to reach a server: where, with which shared secret, out of which process. */
export interface Destination {
  readonly address: Address
  readonly secret: string
  readonly environment: Environment
}

/**
 * One socket and its session: the handshake, bytes to frames and back, and the session's timer. All frames of one
 * microtask leave in one write. It decides nothing; {@link Session} does.
 */
export class Connection implements SessionOutput {
  readonly session: Session
  readonly #secret: string
  readonly #clock: Clock
  readonly #listener: ConnectionListener
  readonly #socket: Duplex
  readonly #encoder = new FrameEncoder()
  readonly #parser = FrameParser.forServerFrames()
  /** The greeting as far as it came; gone once it was answered. */
  #greeting: HandshakeLine | undefined = new HandshakeLine()
  #mayWrite = true
  #flushIsQueued = false
  /** Ends a handshake that takes too long, or a retired session. */
  #deadline: Timer
  #tick: Timer | undefined

  constructor(destination: Destination, listener: ConnectionListener) {
    const { address, secret, environment } = destination
    this.#secret = secret
    this.#clock = environment.clock
    this.#listener = listener
    this.session = new Session(formatAddress(address), this, this.#clock.now())
    this.#deadline = this.#clock.setTimer(handshakeSecondsMax * 1000, () => {
      this.session.end(connectionLost(`No handshake with ${this.session.address} within ${handshakeSecondsMax} s`))
    })
    this.#socket = environment.openSocket(address)
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk))
    // The listener stays for good: an error may come after the end, and without a listener it would be thrown.
    this.#socket.on('error', (error) => this.#lost(error))
    this.#socket.on('end', () => this.#lost())
    this.#socket.on('close', () => this.#lost())
  }

  /** Closes at once. */
  close(): void {
    this.session.end(closedHere(this.session.address))
  }

  send(frame: ClientFrame): void {
    this.#encoder.write(frame)
    if (this.#flushIsQueued) return
    this.#flushIsQueued = true
    queueMicrotask(this.#flush)
  }

  tickAt(monotonic: number): void {
    this.#tick?.cancel()
    this.#tick = setDeadline(this.#clock, monotonic, (now) => this.session.tick(now))
  }

  roleChanged(): void {
    this.#deadline.cancel()
    this.#listener.roleChanged()
  }

  retire(): void {
    this.#mayWrite = false
    this.#tick?.cancel()
    this.#socket.end()
    this.#deadline = this.#clock.setTimer(retiredSecondsMax * 1000, () => this.close())
    this.#listener.roleChanged()
  }

  strayGrant(key: string, token: bigint): void {
    this.#listener.strayGrant(key, token)
  }

  ended(end: SessionEnd): void {
    this.#mayWrite = false
    this.#deadline.cancel()
    this.#tick?.cancel()
    this.#socket.destroy()
    this.#listener.ended(end)
  }

  readonly #flush = (): void => {
    this.#flushIsQueued = false
    const bytes = this.#mayWrite ? this.#encoder.take() : undefined
    if (bytes === undefined) return
    this.session.handedOver()
    this.#socket.write(bytes)
  }

  #read(chunk: Buffer): void {
    try {
      const frames = this.#greeting === undefined ? chunk : this.#greet(this.#greeting, chunk)
      if (frames !== undefined) this.#parser.push(frames, this.#receive)
    } catch (cause) {
      const error = cause as Error
      this.session.end(protocolBroken(this.session.address, error.message, error))
    }
  }

  readonly #receive = (frame: ServerFrame): boolean => this.session.receive(frame)

  /** Answers the greeting once it is complete; returns the bytes behind it. */
  #greet(greeting: HandshakeLine, chunk: Buffer): Buffer | undefined {
    const complete = greeting.push(chunk)
    if (complete === undefined) return undefined
    this.#greeting = undefined
    const said = parseGreeting(complete.line)
    if (said.type === 'error') {
      this.session.end(refusedByServer(this.session.address, said.reason))
      return undefined
    }
    this.#socket.write(encodeDigest(handshakeDigest(this.#secret, said.nonce)))
    return complete.rest
  }

  #lost(cause?: Error): void {
    const { address, isOpen } = this.session
    const what = isOpen ? `The connection to ${address} was lost` : `There is no connection to ${address}`
    this.session.end(connectionLost(what, cause))
  }
}
