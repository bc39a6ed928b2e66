import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import type { CommandStep, FileStep, Step } from './guide.js'

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const commandMillisecondsMax = 120_000

/** Somebody who follows a guide: an empty folder outside the repository, variables, and terminals. */
export class GuideRun implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'ticketing-guide-'))
  readonly #environment: NodeJS.ProcessEnv
  readonly #variables: Readonly<Record<string, string>>
  readonly #running = new Map<ChildProcess, Promise<unknown>>()

  /**
   * @param programs - a folder with the programs that stand before those of the machine.
   * @param variables - stand in place of what the guide gives to the same names.
   */
  constructor(programs: string, variables: Readonly<Record<string, string>>) {
    this.#variables = variables
    // What the test run has in its environment for its own sake is none of the reader's.
    const { PATH, HOME, LANG, TMPDIR } = process.env
    this.#environment = {
      ...{ PATH: `${programs}${delimiter}${PATH}`, HOME, LANG, TMPDIR, NO_COLOR: '1' },
      npm_config_update_notifier: 'false',
      ...variables,
    }
  }

  /** Does one step. For a command it gives its end, or what it said first if it goes on running. */
  async follow(step: Step): Promise<Finished | undefined> {
    if (step.kind === 'command') return step.background ? await this.#start(step) : await this.#finish(step)
    if (step.kind === 'file') this.#write(step)
    else this.set(step.name, this.#variables[step.name] ?? step.value)
    return undefined
  }

  set(name: string, value: string): void {
    this.#environment[name] = value
  }

  #write({ path, text }: FileStep): void {
    const file = join(this.folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }

  #spawn(script: string): ChildProcess {
    const child = spawn('bash', ['-ec', script], {
      cwd: this.folder,
      // A group of its own: npx starts a shell, which starts the program; all of them have to end.
      detached: true,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const closed = new Promise((resolve) => child.once('close', resolve))
    this.#running.set(child, closed)
    return child
  }

  async #finish({ script }: CommandStep): Promise<Finished> {
    const child = this.#spawn(script)
    const output = heard(child)
    const limit = setTimeout(() => kill(child), commandMillisecondsMax)
    await this.#running.get(child)
    clearTimeout(limit)
    return { code: child.exitCode, ...output }
  }

  /** Until it has said its first line, or has ended without one. */
  async #start({ script }: CommandStep): Promise<Finished> {
    const child = this.#spawn(script)
    const output = heard(child)
    await new Promise<void>((resolve) => {
      child.stdout?.on('data', () => output.stdout.includes('\n') && resolve())
      void this.#running.get(child)?.then(() => resolve())
    })
    return { code: child.exitCode, ...output }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#running.keys()) kill(child)
    await Promise.all(this.#running.values())
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function heard(child: ChildProcess) {
  const output = { stdout: '', stderr: '' }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text
  })
  return output
}

/** Ends the group that this child leads, if anything of it lives. */
function kill(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // All of it has ended.
  }
}
