import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { FrontendMessages } from './frontend-messages.js'

/**
 * What happens at a statement: `cut` closes the connection before it reaches the server, `cut the answer` after the
 * server has answered, and `hold` keeps it back until it is let go.
 */
export type Fault = 'cut' | 'cut the answer' | 'hold'

export interface PlannedFault {
  /** Resolves when the statement has come. */
  readonly reached: Promise<void>
  /** Lets a held statement go on. */
  letGo(): void
}

interface Plan extends PlannedFault {
  readonly text: string
  readonly fault: Fault
  readonly gate: Promise<void>
  arrive(): void
}

/** A TCP proxy before a PostgreSQL that knows which statement passes, and makes its connection fail there. */
export class FaultProxy implements AsyncDisposable {
  /** The connection string that leads through it. */
  readonly url: string
  /** The statements that were run, in order. */
  readonly statements: string[] = []
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #plans: Plan[] = []
  #frozen: Promise<void> | undefined
  #thaw: (() => void) | undefined

  private constructor(server: Server, url: string) {
    this.#server = server
    const through = new URL(url)
    through.hostname = '127.0.0.1'
    through.port = String((server.address() as AddressInfo).port)
    this.url = through.href
    const { hostname, port } = new URL(url)
    server.on('connection', (near) => this.#join(near, connect(Number(port || 5432), hostname)))
  }

  /** @param url - a connection string of the server behind the proxy. */
  static async before(url: string): Promise<FaultProxy> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new FaultProxy(server, url)
  }

  /** Plans a fault for the next statement that begins with `text`. */
  at(text: string, fault: Fault): PlannedFault {
    let arrive!: () => void
    let letGo!: () => void
    const reached = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const gate = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const plan: Plan = { text, fault, reached, arrive, gate, letGo }
    this.#plans.push(plan)
    return plan
  }

  /** From here on nothing passes either way, and nothing is lost: the ends see a silent network. */
  freeze(): void {
    this.#frozen ??= new Promise((resolve) => {
      this.#thaw = resolve
    })
  }

  thaw(): void {
    this.#thaw?.()
    this.#frozen = undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.thaw()
    for (const plan of this.#plans) plan.letGo()
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(near: Socket, far: Socket): void {
    const messages = new FrontendMessages()
    let cutAnswer = false
    const end = () => {
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) {
      this.#sockets.add(socket)
      socket.on('error', end)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        end()
      })
    }
    // Chunks keep their order: each waits for the one before it.
    let toServer = Promise.resolve()
    near.on('data', (chunk) => {
      const parts = messages.take(chunk)
      toServer = toServer.then(async () => {
        await this.#frozen
        for (const { bytes, statement } of parts) {
          const plan = statement === undefined ? undefined : this.#take(statement)
          if (statement !== undefined) this.statements.push(statement)
          plan?.arrive()
          if (plan?.fault === 'cut') return end()
          if (plan?.fault === 'hold') await plan.gate
          if (plan?.fault === 'cut the answer') cutAnswer = true
          if (!far.destroyed) far.write(bytes)
        }
      })
    })
    let toClient = Promise.resolve()
    far.on('data', (chunk) => {
      const cut = cutAnswer
      toClient = toClient.then(async () => {
        await this.#frozen
        if (cut) return end()
        if (!near.destroyed) near.write(chunk)
      })
    })
  }

  #take(statement: string): Plan | undefined {
    const plan = this.#plans.find(({ text }) => statement.startsWith(text))
    this.#plans = this.#plans.filter((other) => other !== plan)
    return plan
  }
}
