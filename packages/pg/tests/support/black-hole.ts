import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A TCP proxy before a database that can swallow what passes, so that both ends see a silent network. */
export class BlackHole implements AsyncDisposable {
  /** The connection string that leads through it. */
  readonly url: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #open = true

  private constructor(server: Server, url: string) {
    this.#server = server
    const through = new URL(url)
    through.hostname = '127.0.0.1'
    through.port = String((server.address() as AddressInfo).port)
    this.url = through.href
    const { hostname, port } = new URL(url)
    server.on('connection', (near) => this.#join(near, connect(Number(port || 5432), hostname)))
  }

  static async before(url: string): Promise<BlackHole> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new BlackHole(server, url)
  }

  /** From here on, whatever arrives from either side is lost. */
  swallow(): void {
    this.#open = false
  }

  /** New connections pass again. */
  reopen(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#open = true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(near: Socket, far: Socket): void {
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from)
      from.on('data', (chunk) => {
        if (this.#open) to.write(chunk)
      })
      from.on('error', () => undefined)
      from.on('close', () => {
        this.#sockets.delete(from)
        if (this.#open) to.destroy()
      })
    }
  }
}
