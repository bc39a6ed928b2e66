import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../../dist/main.mjs', import.meta.url))
const pollMilliseconds = 20

/** The built demo, in a process group of its own. */
export class DemoRun implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #closed: Promise<number | null>
  output = ''
  errors = ''

  constructor(args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
    if (!existsSync(program)) throw new Error(`There is no ${program}: run "npm run build" first.`)
    this.#child = spawn(process.execPath, [program, ...args], {
      // A group of its own: then what is left of it can be told, whoever its parent is by then.
      detached: true,
      env: { ...process.env, NO_COLOR: '1', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.output += text
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text
    })
    this.#closed = new Promise((resolve) => this.#child.once('close', (code) => resolve(code)))
  }

  /** The exit code, once the demo and all that had its output have ended. */
  exit(): Promise<number | null> {
    return this.#closed
  }

  /** Waits until the demo has written something. Fails with what it wrote if it ends without. */
  async wrote(pattern: RegExp): Promise<void> {
    let ended = false
    void this.#closed.then(() => {
      ended = true
    })
    while (!pattern.test(this.output)) {
      if (ended) throw new Error(`The demo ended and never wrote ${pattern}:\n${this.output}\n${this.errors}`)
      await delay(pollMilliseconds)
    }
  }

  /** Sends a signal to the demo's own process alone. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Waits until no process of the demo's group lives any more. */
  async gone(): Promise<void> {
    while (await groupLives(this.#child.pid as number)) await delay(pollMilliseconds)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const group = this.#child.pid as number
    if (await groupLives(group)) process.kill(-group, 'SIGKILL')
    await this.#closed
  }
}

/** A temporary directory that shows what the demo leaves behind; every account of the machine can reach it. */
export async function temporaryDirectory(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(await realpath(tmpdir()), 'ticketing-demo-test-'))
  await chmod(path, 0o755)
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

async function groupLives(group: number): Promise<boolean> {
  try {
    process.kill(-group, 0)
  } catch {
    return false
  }
  // Some machines never collect orphans that have ended; on Linux these can be told apart.
  const entries = await readdir('/proc').catch(() => undefined)
  if (entries === undefined) return true
  const states = await Promise.all(entries.filter((name) => /^\d+$/.test(name)).map(stateOf))
  return states.some((state) => state?.group === group && state.letter !== 'Z')
}

async function stateOf(pid: string): Promise<{ readonly letter: string; readonly group: number } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name before the state may hold anything, also spaces and brackets.
  const [letter, , group] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return letter === undefined || group === undefined ? undefined : { letter, group: Number(group) }
}
