import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { DemoError } from './demo-error.js'
import type { Failed } from './served-process.js'

/** Long: a process that starts others must come to end them before it is killed itself. */
const stopMillisecondsMax = 10_000

type Message<Report, Type> = Extract<Report, { readonly type: Type }>

/** A process of the demo, seen from the one that started it. Its program serves it with `serveParent`. */
export class Child<Report extends { readonly type: string }> implements AsyncDisposable {
  readonly #name: string
  readonly #process: ChildProcess
  /** The newest report of each type. */
  readonly #received = new Map<string, Report | Failed>()
  readonly #changed = new EventTarget()
  #silent = false

  /** Starts `dist/<program>.mjs` and gives it its task. */
  constructor(program: string, task: object) {
    this.#name = program
    const file = fileURLToPath(new URL(`./${program}.mjs`, import.meta.url))
    // Advanced serialisation carries tokens as bigints.
    this.#process = fork(file, { serialization: 'advanced' })
    this.#process.on('message', (message) => {
      const report = message as Report | Failed
      this.#received.set(report.type, report)
      this.#change()
    })
    for (const end of ['disconnect', 'error'] as const) {
      this.#process.on(end, () => {
        this.#silent = true
        this.#change()
      })
    }
    this.#send(task)
  }

  /** The newest report of a type, if there has been one. */
  latest<Type extends Report['type']>(type: Type): Message<Report, Type> | undefined {
    return this.#received.get(type) as Message<Report, Type> | undefined
  }

  /**
   * A report of a type, as soon as there is one.
   *
   * @throws {DemoError} when the process fails or ends without it.
   */
  async report<Type extends Report['type']>(type: Type): Promise<Message<Report, Type>> {
    for (;;) {
      const report = this.latest(type)
      if (report !== undefined) return report
      const failed = this.#received.get('failed') as Failed | undefined
      if (failed !== undefined) throw new DemoError(failed.message)
      if (this.#silent) throw new DemoError(`A process of the demo (${this.#name}) ended before it was done.`)
      await once(this.#changed, 'change')
    }
  }

  /** Asks it to finish what it is doing and to do no more. */
  askToStop(): void {
    this.#send({})
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  /** Ends it, in whatever state it is, and waits until it is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { pid, exitCode, signalCode } = this.#process
    if (pid === undefined || exitCode !== null || signalCode !== null) return
    const exit = once(this.#process, 'exit')
    // It ends with its channel, and takes its own children with it.
    if (this.#process.connected) this.#process.disconnect()
    const late = setTimeout(() => this.#process.kill('SIGKILL'), stopMillisecondsMax)
    await exit
    clearTimeout(late)
  }

  /** One that has ended cannot take it; whoever waits for its report hears of its end. */
  #send(message: object): void {
    this.#process.send(message, () => {})
  }

  #change(): void {
    this.#changed.dispatchEvent(new Event('change'))
  }
}
