import type { Socket } from 'node:net'

/** Hands what arrives on a socket to its reader byte by byte, each in a turn of its own, as a bad network may. */
export function dripping(socket: Socket): Socket {
  const emit = socket.emit.bind(socket) as (event: string | symbol, ...args: unknown[]) => boolean
  let last: Promise<unknown> = Promise.resolve()
  socket.emit = (event: string | symbol, ...args: unknown[]) => {
    const [chunk] = args
    if (event !== 'data' || !Buffer.isBuffer(chunk)) return emit(event, ...args)
    for (const byte of chunk) {
      last = last.then(() => new Promise((resolve) => setImmediate(resolve))).then(() => emit('data', Buffer.of(byte)))
    }
    return true
  }
  return socket
}
