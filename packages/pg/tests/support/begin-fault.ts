import type { Socket } from 'node:net'
import type { WireLog } from './wire-log.js'

/**
 * Spoils the next BEGIN of a pool's connections: `refused` makes it a word that the server does not know, as long as
 * BEGIN, and `cut` ends the connection instead of sending it.
 */
export class BeginFault {
  readonly #wire: WireLog
  next: 'refused' | 'cut' | undefined

  constructor(wire: WireLog) {
    this.#wire = wire
  }

  /** For a pool's `stream` option. */
  readonly stream = (): Socket => {
    const socket = this.#wire.stream()
    socket.once('connect', () => {
      const write = socket.write.bind(socket)
      socket.write = (chunk: Uint8Array | string, ...rest: never[]) => {
        const bytes = Buffer.from(chunk)
        const fault = bytes.includes('BEGIN') ? this.next : undefined
        if (fault === undefined) return write(chunk, ...rest)
        this.next = undefined
        if (fault === 'refused') return write(Buffer.from(bytes.toString('latin1').replace('BEGIN', 'BEGAN'), 'latin1'))
        socket.destroy()
        return false
      }
    })
    return socket
  }
}
