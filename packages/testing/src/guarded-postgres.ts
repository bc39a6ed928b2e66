import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { Socket } from 'node:net'
import { guardProgram } from './postgres-programs.js'
import type { ServerAccount } from './server-account.js'

/** What the guard needs to know to run a server. Its account, where it is another one, goes beside it. */
export interface GuardedCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** Removed when the server has been stopped. */
  readonly directory: string
}

/** A server under guard: it ends when `stop` is called, or when this process ends, in whatever way. */
export class GuardedPostgres {
  readonly #guard: ChildProcess
  readonly #exit: Promise<unknown>

  private constructor(guard: ChildProcess, guardId: number) {
    this.#guard = guard
    this.guardId = guardId
    this.#exit = once(guard, 'exit')
    // A start that fails ends the guard before anybody asks about it.
    this.#exit.catch(() => {})
    // A server that nobody stopped must not keep a finished program alive. The guard sees to the server.
    guard.unref()
    unrefSocket(guard.stdin)
  }

  /** Starts the server. Its output goes to the log file. */
  static async start(
    command: GuardedCommand,
    account: ServerAccount | undefined,
    log: string,
  ): Promise<GuardedPostgres> {
    const file = await open(log, 'a')
    try {
      const guard = spawn(process.execPath, [guardProgram, JSON.stringify({ ...command, ...account })], {
        // Away from the terminal, whose Ctrl-C would reach it too; it has to outlive its parent by a moment.
        detached: true,
        cwd: command.cwd,
        env: command.env,
        stdio: ['pipe', file.fd, file.fd],
        windowsHide: true,
      })
      await once(guard, 'spawn')
      if (guard.pid === undefined) throw new Error("The guard's process has no id although it was started.")
      return new GuardedPostgres(guard, guard.pid)
    } finally {
      await file.close()
    }
  }

  /** The guard's process id. */
  readonly guardId: number

  /** Whether the server has ended. */
  get ended(): boolean {
    return this.#guard.exitCode !== null || this.#guard.signalCode !== null
  }

  /** Stops the server and waits until it has ended and its directory is gone. May be called again. */
  async stop(): Promise<void> {
    if (this.ended) return
    this.#guard.ref()
    this.#guard.stdin?.destroy()
    await this.#exit
  }
}

/** The stream to a child is a socket at run time, which the types of `stdin` do not say. */
function unrefSocket(stream: object | null): void {
  if (stream instanceof Socket) stream.unref()
}
