import { connect, type Socket } from 'node:net'
import {
  type Address,
  type ClientFrame,
  encodeDigest,
  encodeFrame,
  FrameParser,
  HandshakeLine,
  handshakeDigest,
  parseAddress,
  parseGreeting,
  type ServerFrame,
} from '@ticketing/protocol'

export interface ConnectionOptions {
  readonly allowHalfOpen?: boolean
  /** The address to come from. */
  readonly localAddress?: string
}

/** A socket that speaks the wire format and nothing more: it sends what it is told and keeps what it gets. */
export class RawClient {
  readonly socket: Socket
  /** Frames that came and were not asked for yet. */
  readonly frames: ServerFrame[] = []
  readonly closed: Promise<void>
  #line: HandshakeLine | undefined = new HandshakeLine()
  #greeting: string | undefined
  readonly #parser = FrameParser.forServerFrames()
  #wake: () => void = () => {}
  #owners = 0

  constructor(address: string, options: ConnectionOptions = {}) {
    this.socket = connect({ ...(parseAddress(address) as Address), noDelay: true, ...options })
    this.socket.on('error', () => {})
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => {
        this.#wake()
        resolve()
      })
    })
    this.socket.on('data', (chunk) => this.#read(chunk))
  }

  /** The server's first line. */
  async greeting(): Promise<string> {
    while (this.#greeting === undefined) await this.#news()
    return this.#greeting
  }

  /** Answers the greeting and waits for the first frame. */
  async shakeHands(secret = ''): Promise<ServerFrame> {
    this.socket.write(await this.answer(secret))
    return await this.next()
  }

  /** The right answer to the greeting. */
  async answer(secret = ''): Promise<Buffer> {
    const greeting = parseGreeting(await this.greeting())
    if (greeting.type === 'error') throw new Error(`The server refused the session: ${greeting.reason}.`)
    return encodeDigest(handshakeDigest(secret, greeting.nonce))
  }

  /** Sends frames in one chunk. */
  send(...frames: ClientFrame[]): void {
    this.socket.write(Buffer.concat(frames.map(encodeFrame)))
  }

  /** An acquire with an owner of its own. */
  request(key: string, waitSeconds = 0, leaseSeconds = 10): ClientFrame {
    const owner = `${++this.#owners}`.padStart(16, '0')
    return { type: 'acquire', owner, key, waitSeconds, leaseSeconds }
  }

  /** The next frame; fails if the connection closes first. */
  async next(): Promise<ServerFrame> {
    while (this.frames.length === 0) {
      if (this.socket.closed) throw new Error('The server closed the connection without a further frame.')
      await this.#news()
    }
    return this.frames.shift() as ServerFrame
  }

  async nextMany(count: number): Promise<ServerFrame[]> {
    const frames: ServerFrame[] = []
    while (frames.length < count) frames.push(await this.next())
    return frames
  }

  /** Waits until the server has handled all that was sent before, and answers the frames that came before the pong. */
  async settle(): Promise<ServerFrame[]> {
    this.send({ type: 'ping' })
    const frames: ServerFrame[] = []
    for (let frame = await this.next(); frame.type !== 'pong'; frame = await this.next()) frames.push(frame)
    return frames
  }

  /** Sends an acquire that is granted at once; answers its token. */
  async take(key: string, leaseSeconds = 10): Promise<bigint> {
    this.send(this.request(key, 0, leaseSeconds))
    const frame = await this.next()
    if (frame.type !== 'granted') throw new Error(`Not granted: ${frame.type}.`)
    return frame.token
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  #read(chunk: Buffer): void {
    let bytes = chunk
    if (this.#line !== undefined) {
      const complete = this.#line.push(chunk)
      if (complete === undefined) return
      this.#greeting = complete.line
      this.#line = undefined
      bytes = complete.rest
    }
    this.#parser.push(bytes, (frame) => this.frames.push(frame))
    this.#wake()
  }
}
