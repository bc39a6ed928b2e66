import type { Socket } from 'node:net'
import { WireLog } from './wire-log.js'

type WriteDone = (error?: Error | null) => void

/** The streams' own hooks below `write`: each call is one hand-over to the operating system. */
interface Writes {
  _write(chunk: unknown, encoding: BufferEncoding, done: WriteDone): void
  _writev(chunks: unknown[], done: WriteDone): void
}

/**
 * What the connections of a pool hand to the operating system, chunk by chunk: each as the types of its messages, such
 * as `PBDEPBDES`. A client that waits for an answer between two messages needs two chunks for them.
 */
export class ChunkLog {
  readonly wire = new WireLog()
  readonly #chunks: string[] = []
  #counted = 0

  /** For a pool's `stream` option. */
  readonly stream = (): Socket => {
    const socket = this.wire.stream()
    const writes = socket as unknown as Writes
    socket.once('connect', () => {
      const write = writes._write.bind(socket)
      const writev = writes._writev.bind(socket)
      writes._write = (chunk, encoding, done) => {
        this.#cut()
        write(chunk, encoding, done)
      }
      writes._writev = (chunks, done) => {
        this.#cut()
        writev(chunks, done)
      }
    })
    return socket
  }

  /** The chunks since the last call. */
  take(): readonly string[] {
    return this.#chunks.splice(0)
  }

  #cut(): void {
    const { types } = this.wire
    this.#chunks.push(types.slice(this.#counted))
    this.#counted = types.length
  }
}
