import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import {
  type ClientFrame,
  digestMatches,
  type ErrorReason,
  encodeGreeting,
  FrameEncoder,
  FrameParser,
  HandshakeLine,
  handshakeSecondsMax,
  nonceBytes,
  parseDigest,
  type ServerFrame,
  WireError,
} from '@ticketing/protocol'
import type { Clock, Timer } from './clock.js'
import type { Logger } from './logger.js'
import type { Flushable, OutputTurn } from './output-turn.js'
import type { ReplySink, ServingMode } from './serving-mode.js'

/** How long a session that was told its end may take to read it before its socket is destroyed. */
export const lingerSeconds = 2

/**
 * Replies past this are written before the end of the turn. Node reads many chunks from one socket in a turn, so a client
 * that sends without a pause would otherwise have megabytes of replies gathered before anybody looks whether it reads.
 */
const gatheredBytesMax = 64 * 1024

/** What all sessions of a server share. */
export interface SessionSurroundings {
  readonly mode: ServingMode
  readonly clock: Clock
  readonly outputTurn: OutputTurn
  readonly logger: Logger
  readonly clientTokens: readonly string[]
  readonly idleSeconds: number
  readonly outputBytesMax: number
}

/**
 * One client's connection: the handshake, then frames in and replies out. Replies of one turn leave in one write. While
 * the client does not take its replies, nothing more is read from it.
 */
export class ClientSession implements ReplySink, Flushable {
  readonly #socket: Socket
  readonly #shared: SessionSurroundings
  readonly #encoder = new FrameEncoder()
  readonly #parser = FrameParser.forClientFrames()
  #state: 'handshake' | 'open' | 'over' = 'handshake'
  #handshake: { readonly nonce: Buffer; readonly line: HandshakeLine } | undefined
  /** Ends the session: a handshake that takes too long, silence, or after the end a client that does not leave. */
  #timer: Timer
  #flushIsQueued = false

  constructor(socket: Socket, shared: SessionSurroundings) {
    this.#socket = socket
    this.#shared = shared
    this.#timer = shared.clock.setTimer(handshakeSecondsMax * 1000, () => this.end('idle'))
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('drain', () => socket.resume())
    socket.on('end', () => this.end())
    socket.on('error', () => {}) // A reset is no news: 'close' follows.
    socket.on('close', () => {
      this.end()
      shared.clock.clearTimer(this.#timer)
    })
    this.#handshake = { nonce: randomBytes(nonceBytes), line: new HandshakeLine() }
    socket.write(encodeGreeting(this.#handshake.nonce))
  }

  /** The client's network address, for the log. */
  get peer(): string {
    return `${this.#socket.remoteAddress}:${this.#socket.remotePort}`
  }

  send(frame: ServerFrame): boolean {
    if (this.#state !== 'open') return false
    this.#encoder.write(frame)
    if (!this.#flushIsQueued) {
      this.#flushIsQueued = true
      this.#shared.outputTurn.add(this)
    }
    return true
  }

  flush(): void {
    this.#flushIsQueued = false
    this.#write()
  }

  #write(): void {
    const bytes = this.#state === 'open' ? this.#encoder.take() : undefined
    if (bytes === undefined || this.#socket.write(bytes)) return
    // The socket often takes everything at once although it asks for a pause.
    const unread = this.#socket.writableLength
    if (unread > this.#shared.outputBytesMax) {
      this.#shared.logger.warn({ peer: this.peer, unread }, 'session closed: the client does not read its replies')
      this.end()
      this.#socket.destroy()
    } else if (unread > 0) {
      this.#socket.pause()
    }
  }

  /**
   * Ends the session: it is sent what it is still owed and the reason, if there is one, and then closed. What it still
   * sends is read and dropped, since closing with bytes unread would take the reason away from the client.
   */
  end(reason?: ErrorReason): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    const { clock, mode } = this.#shared
    mode.sessionEnded(this)
    if (reason !== undefined) this.#encoder.write({ type: 'error', reason })
    this.#socket.end(this.#encoder.take() ?? '')
    this.#socket.removeAllListeners('data')
    this.#socket.resume()
    clock.clearTimer(this.#timer)
    this.#timer = clock.setTimer(lingerSeconds * 1000, () => this.#socket.destroy())
  }

  #read(chunk: Buffer): void {
    try {
      if (this.#handshake !== undefined) {
        this.#readDigest(this.#handshake.line, this.#handshake.nonce, chunk)
      } else {
        this.#timer.refresh()
        this.#parser.push(chunk, this.#handle)
        if (this.#encoder.pendingBytes > gatheredBytesMax) this.#write()
      }
    } catch (error) {
      if (!(error instanceof WireError)) throw error
      this.#shared.logger.warn({ peer: this.peer, fault: error.message }, 'session closed: bad request')
      this.end('bad_request')
    }
  }

  #readDigest(line: HandshakeLine, nonce: Buffer, chunk: Buffer): void {
    const complete = line.push(chunk)
    if (complete === undefined) return
    const digest = parseDigest(complete.line)
    const { clientTokens, clock, idleSeconds, logger, mode } = this.#shared
    if (clientTokens.length > 0 && !digestMatches(digest, nonce, clientTokens)) {
      logger.warn({ peer: this.peer }, 'session refused: the secret matches no client token')
      this.end('auth_failed')
      return
    }
    this.#handshake = undefined
    this.#state = 'open'
    clock.clearTimer(this.#timer)
    this.#timer = clock.setTimer(idleSeconds * 1000, () => this.end('idle'))
    this.send(mode.role())
    this.#parser.push(complete.rest, this.#handle)
  }

  readonly #handle = (frame: ClientFrame): void => {
    switch (frame.type) {
      case 'acquire':
        this.#shared.mode.acquire(this, frame)
        break
      case 'release':
        this.#shared.mode.release(this, frame)
        break
      case 'ping':
        this.send({ type: 'pong' })
        break
    }
  }
}
