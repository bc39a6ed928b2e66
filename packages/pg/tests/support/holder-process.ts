import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { HolderMessage, HolderOrder } from './holder-messages.js'
import { until } from './server-view.js'

const runner = fileURLToPath(new URL('../../../testing/tests/support/run-source.mjs', import.meta.url))
const program = fileURLToPath(new URL('holder.ts', import.meta.url))

type MessageOf<Event> = Extract<HolderMessage, { event: Event }>

/** A holder in a process of its own, which a test stops and wakes. It is killed when it is disposed of. */
export class HolderProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #messages: HolderMessage[] = []

  private constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', (message: HolderMessage) => this.#messages.push(message))
  }

  static async start(): Promise<HolderProcess> {
    // Without the flags of this process, which resolve packages in another way than the runner does.
    const child = fork(runner, [program], { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    const holder = new HolderProcess(child)
    await holder.told('ready')
    return holder
  }

  order(order: HolderOrder): void {
    this.#child.send(order)
  }

  /** Tells one that waits inside its section to go on. */
  goOn(): void {
    this.#child.send('go')
  }

  /** Waits for its next message, which must be of this event. */
  async told<Event extends HolderMessage['event']>(event: Event): Promise<MessageOf<Event>> {
    const message = await until(`the holder's message "${event}"`, async () => {
      const first = this.#messages.shift()
      if (first === undefined && this.#ended) throw new Error(`The holder ended before it told "${event}".`)
      return first
    })
    if (message.event === event) return message as MessageOf<Event>
    throw new Error(`The holder should have told "${event}", but it told ${JSON.stringify(message)}.`)
  }

  /** Stops it where it stands; resolves once it is stopped. */
  async stop(): Promise<void> {
    this.#child.kill('SIGSTOP')
    await this.stopped()
  }

  /** Resolves once the operating system shows the process as stopped. */
  async stopped(): Promise<void> {
    await until('the holder to be stopped', async () => {
      const { stdout } = await promisify(execFile)('ps', ['-o', 'stat=', '-p', String(this.#child.pid)])
      return stdout.trim().startsWith('T')
    })
  }

  wake(): void {
    this.#child.kill('SIGCONT')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ended) return
    this.#child.kill('SIGKILL')
    await once(this.#child, 'exit')
  }

  get #ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }
}
