import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'

const packageFolder = (name: string) => fileURLToPath(new URL(`../../${name}/`, import.meta.url))
const cliFile = `${packageFolder('server')}dist/cli.js`

/** Builds what the command line runs from, where it is missing or older than its sources. */
export async function buildCli(): Promise<void> {
  await buildIfStale('protocol', 'dist/index.mjs')
  await buildIfStale('server', 'dist/cli.js')
}

async function buildIfStale(name: string, output: string): Promise<void> {
  const folder = packageFolder(name)
  const sources = readdirSync(`${folder}src`, { recursive: true, encoding: 'utf8' }).map(
    (file) => `${folder}src/${file}`,
  )
  const changedAt = Math.max(...[...sources, `${folder}package.json`].map((file) => statSync(file).mtimeMs))
  if (existsSync(folder + output) && statSync(folder + output).mtimeMs >= changedAt) return
  await promisify(execFile)('npx', ['tsdown'], { cwd: folder })
}

export interface CliRun {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunningCli {
  /** The address of the line that it prints when it listens. */
  readonly address: string
  readonly ended: Promise<CliRun>
  signal(name: 'SIGTERM' | 'SIGINT'): void
}

function spawnCli(args: readonly string[], environment: Record<string, string>) {
  const inherited = { ...process.env }
  delete inherited.TICKETING_CLIENT_TOKENS
  const child = spawn(process.execPath, [cliFile, ...args], { env: { ...inherited, ...environment } })
  onTestFinished(() => void child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (output.stdout += chunk))
  child.stderr.on('data', (chunk) => (output.stderr += chunk))
  const ended: Promise<CliRun> = once(child, 'close').then(([code]) => ({ code: code as number | null, ...output }))
  return { child, output, ended }
}

/** Runs the command line to its end. */
export async function runCli(args: readonly string[], environment: Record<string, string> = {}): Promise<CliRun> {
  return await spawnCli(args, environment).ended
}

/** Starts the command line and waits until it listens. */
export async function startCli(args: readonly string[], environment: Record<string, string> = {}): Promise<RunningCli> {
  const { child, output, ended } = spawnCli(args, environment)
  let over = false
  void ended.then(() => {
    over = true
  })
  const line = () => /^ticketing-server listens on (\S+)\n/.exec(output.stdout)?.[1]
  while (line() === undefined) {
    await Promise.race([once(child.stdout, 'data'), ended])
    if (over) throw new Error(`It ended before it listened: ${output.stderr}`)
  }
  return { address: line() as string, ended, signal: (name) => child.kill(name) }
}
