import { Socket } from 'node:net'

/** A message that node-postgres sent: its type letter, and the text or parameters of those that carry one. */
export interface SentMessage {
  readonly type: string
  readonly text?: string
  readonly values?: readonly (string | null)[]
}

/** Everything that the connections of a pool write, from their start on, as the server reads it. */
export class WireLog {
  readonly messages: SentMessage[] = []
  bytes = 0

  /** For a pool's `stream` option. */
  readonly stream = (): Socket => {
    const read = new FrontendReader((message) => this.messages.push(message))
    return watchedSocket((chunk) => {
      this.bytes += chunk.length
      read.push(chunk)
    })
  }

  clear(): void {
    this.messages.length = 0
    this.bytes = 0
  }

  /** The types of the messages, `PBDES` for a statement with its Sync. */
  get types(): string {
    return this.messages.map((message) => message.type).join('')
  }
}

/** A socket that tells what is written to it, before it is written. */
export function watchedSocket(onWrite: (chunk: Buffer) => void): Socket {
  const socket = new Socket()
  // Only now, since connect() takes an own `write` of a socket away again.
  socket.once('connect', () => {
    const write = socket.write.bind(socket)
    socket.write = (chunk: Uint8Array | string, ...rest: never[]) => {
      onWrite(Buffer.from(chunk))
      return write(chunk, ...rest)
    }
  })
  return socket
}

/** Cuts the stream of a client into messages. The first one, the startup message, has no type letter. */
class FrontendReader {
  readonly #onMessage: (message: SentMessage) => void
  #rest = Buffer.alloc(0)
  #started = false

  constructor(onMessage: (message: SentMessage) => void) {
    this.#onMessage = onMessage
  }

  push(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk])
    for (;;) {
      const head = this.#started ? 1 : 0
      if (this.#rest.length < head + 4) return
      const end = head + this.#rest.readUInt32BE(head)
      if (this.#rest.length < end) return
      if (this.#started) this.#onMessage(parsed(this.#rest.toString('latin1', 0, 1), this.#rest.subarray(5, end)))
      this.#started = true
      this.#rest = this.#rest.subarray(end)
    }
  }
}

function parsed(type: string, body: Buffer): SentMessage {
  if (type === 'P') return { type, text: cstring(body, body.indexOf(0) + 1) }
  if (type === 'Q') return { type, text: cstring(body, 0) }
  return type === 'B' ? { type, values: boundValues(body) } : { type }
}

function cstring(body: Buffer, start: number): string {
  return body.toString('utf8', start, body.indexOf(0, start))
}

/** Bind: portal, statement, parameter formats, parameters. All parameters of the fence are text. */
function boundValues(body: Buffer): (string | null)[] {
  let at = body.indexOf(0, body.indexOf(0) + 1) + 1
  at += 2 + 2 * body.readUInt16BE(at)
  const values: (string | null)[] = []
  for (let left = body.readUInt16BE(at), length = 0, from = at + 2; left > 0; left--, from += 4 + Math.max(0, length)) {
    length = body.readInt32BE(from)
    values.push(length < 0 ? null : body.toString('utf8', from + 4, from + 4 + length))
  }
  return values
}
