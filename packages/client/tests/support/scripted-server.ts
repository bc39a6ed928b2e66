import { createServer, type Server, type Socket } from 'node:net'
import {
  type AcquireFrame,
  type ClientFrame,
  encodeFrame,
  encodeGreeting,
  FrameParser,
  HandshakeLine,
  type ReleaseFrame,
  type ServerFrame,
} from '@ticketing/protocol'
import { onTestFinished } from 'vitest'
import { until } from './until.js'

/** How a scripted server behaves until the test takes over. */
export interface Script {
  /** The first bytes of each session instead of a greeting. */
  readonly firstBytes?: (sessionNumber: number) => Uint8Array
  /** The answer to the digest, by default `L +`. */
  readonly welcome?: (sessionNumber: number) => ServerFrame | undefined
  /** Whether pings are answered at once; by default they are. */
  readonly answersPings?: boolean
  /** Leaves its side of a connection open when the client closes the other. */
  readonly staysHalfOpen?: boolean
  /** Handles each frame but pings; without it they are only recorded. */
  readonly onFrame?: (frame: AcquireFrame | ReleaseFrame, session: ScriptedSession) => void
}

/** A server that does what a test tells it, right or wrong, over a real socket. It closes when the test is finished. */
export class ScriptedServer {
  readonly sessions: ScriptedSession[] = []
  readonly #script: Script
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(script: Script) {
    this.#script = script
    this.#server = createServer({ allowHalfOpen: script.staysHalfOpen === true }, (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
      this.sessions.push(new ScriptedSession(socket, this.#script, this.sessions.length))
    })
  }

  static async listen(script: Script = {}, port = 0): Promise<ScriptedServer> {
    const server = new ScriptedServer(script)
    await new Promise<void>((resolve) => server.#server.listen(port, '127.0.0.1', resolve))
    onTestFinished(() => server.close())
    return server
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  get address(): string {
    return `127.0.0.1:${this.port}`
  }

  /** All frames of all sessions but pings, in the order of their arrival in each. */
  get frames(): readonly ClientFrame[] {
    return this.sessions.flatMap((session) => session.frames)
  }

  /** The session with this number (from 0) once it has shaken hands. */
  async session(number: number): Promise<ScriptedSession> {
    await until(() => this.sessions[number]?.isReady === true)
    return this.sessions[number] as ScriptedSession
  }

  /** Resets every connection and takes no new ones. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.resetAndDestroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }
}

/** One connection of a scripted server. */
export class ScriptedSession {
  readonly frames: (AcquireFrame | ReleaseFrame)[] = []
  pings = 0
  bytesReceived = 0
  isReady = false
  /** The client closed its side, or the connection is gone. */
  hasEnded = false
  readonly #socket: Socket

  constructor(socket: Socket, script: Script, number: number) {
    this.#socket = socket
    const parser = FrameParser.forClientFrames()
    const digest = new HandshakeLine()
    const receive = (frame: ClientFrame) => {
      if (frame.type === 'ping') {
        this.pings++
        if (script.answersPings !== false) this.send({ type: 'pong' })
      } else {
        this.frames.push(frame)
        script.onFrame?.(frame, this)
      }
    }
    socket.on('error', () => {})
    socket.on('end', () => {
      this.hasEnded = true
    })
    socket.on('close', () => {
      this.hasEnded = true
    })
    socket.on('data', (chunk) => {
      this.bytesReceived += chunk.length
      if (this.isReady) {
        parser.push(chunk, receive)
        return
      }
      const line = digest.push(chunk)
      if (line === undefined) return
      const welcome = script.welcome === undefined ? leads : script.welcome(number)
      if (welcome !== undefined) this.send(welcome)
      this.isReady = true
      parser.push(line.rest, receive)
    })
    socket.write(script.firstBytes?.(number) ?? encodeGreeting(Buffer.alloc(32, number)))
  }

  get acquires(): readonly AcquireFrame[] {
    return this.frames.filter((frame) => frame.type === 'acquire')
  }

  get releases(): readonly ReleaseFrame[] {
    return this.frames.filter((frame) => frame.type === 'release')
  }

  /** The acquire with this number (from 0) once it has arrived. */
  async acquire(number = 0): Promise<AcquireFrame> {
    await until(() => this.acquires.length > number)
    return this.acquires[number] as AcquireFrame
  }

  /** The release with this number (from 0) once it has arrived. */
  async release(number = 0): Promise<ReleaseFrame> {
    await until(() => this.releases.length > number)
    return this.releases[number] as ReleaseFrame
  }

  send(frame: ServerFrame): void {
    this.sendBytes(encodeFrame(frame))
  }

  sendBytes(bytes: Uint8Array): void {
    this.#socket.write(bytes)
  }

  grant({ owner, key }: AcquireFrame, token: bigint): void {
    this.send({ type: 'granted', token, owner, key })
  }

  /** Closes in order. */
  end(): void {
    this.#socket.end()
  }

  /** Resets the connection. */
  reset(): void {
    this.#socket.resetAndDestroy()
  }
}

const leads: ServerFrame = { type: 'leader', leads: true, address: undefined }
