import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** How a command ended. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

const buildProgram = `
  import { appendFileSync, cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
  appendFileSync('../../built.log', process.cwd().split('/').at(-1) + ' ')
  if (existsSync('fail')) { console.log('this is why'); process.exit(3) }
  rmSync('dist', { recursive: true, force: true })
  cpSync('src', 'dist', { recursive: true })
  if (existsSync('hang')) {
    writeFileSync('hanging', '')
    setInterval(() => existsSync('hang') || process.exit(0), 20)
  }
`

const npxProgram = `#!${process.execPath}
  const fs = require('node:fs')
  fs.appendFileSync('npx.log', process.argv.slice(2).join(' ') + '\\n')
  fs.writeFileSync('npx.env', [process.env.npm_config_package, process.env.npm_config_call].map(String).join(' '))
  if (fs.existsSync('registry-is-down')) {
    console.error('npm error code ENOTFOUND')
    process.exit(1)
  }
  fs.mkdirSync('node_modules/left-pad', { recursive: true })
  fs.writeFileSync('node_modules/left-pad/package.json', '{}')
`

/** A small workspace of the same shape as this repository, with an `npx` of its own in place of a network. */
export class Workspace implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'ticketing-workspace-'))

  constructor() {
    const build = { scripts: { build: `"${process.execPath}" ../../build.mjs` } }
    this.write('package.json', { packageManager: 'pnpm@10.34.9', devDependencies: { 'left-pad': '1.0.0' } })
    this.write('pnpm-lock.yaml', '')
    this.write('build.mjs', buildProgram)
    this.write('packages/base/package.json', { name: 'base', ...build })
    this.write('packages/base/src/index.mjs', '')
    this.write('packages/top/package.json', { name: 'top', ...build, peerDependencies: { base: '*' } })
    this.write('packages/top/src/index.mjs', '')
    this.write('packages/aside/package.json', { name: 'aside', ...build })
    this.write('packages/aside/src/index.mjs', '')
    this.write('examples/bank-transfers/package.json', { name: 'demo', ...build, peerDependencies: { top: '*' } })
    this.demo('')
    this.write('bin/npx', npxProgram)
    chmodSync(join(this.root, 'bin/npx'), 0o755)
  }

  /** Replaces the source of the demo. */
  demo(source: string): void {
    this.write('examples/bank-transfers/src/main.mjs', source)
  }

  write(path: string, content: string | object): void {
    const file = join(this.root, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  }

  read(path: string): string {
    return existsSync(join(this.root, path)) ? readFileSync(join(this.root, path), 'utf8') : ''
  }

  has(path: string): boolean {
    return existsSync(join(this.root, path))
  }

  remove(path: string): void {
    rmSync(join(this.root, path), { recursive: true, force: true })
  }

  /** The packages built since the last call, in the order in which their builds began. */
  built(): string[] {
    const names = this.read('built.log').trim().split(' ').filter(Boolean)
    this.remove('built.log')
    return names
  }

  /** How `npx` was called since the last call. */
  npxCalls(): string[] {
    const calls = this.read('npx.log').trim().split('\n').filter(Boolean)
    this.remove('npx.log')
    return calls
  }

  /** Starts `npm start` or `npm test` here. */
  spawn(command: 'start' | 'test', args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): ChildProcess {
    return this.#spawn(process.execPath, [program(command), this.root, ...args], env)
  }

  /** Starts `npm start` as npm does: in a shell, which stays and passes no signal on. */
  spawnInShell(): ChildProcess {
    const script = `"${process.execPath}" "${program('start')}" "${this.root}"; exit $?`
    return this.#spawn('/bin/sh', ['-c', script], { npm_lifecycle_event: 'start' })
  }

  #spawn(file: string, args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
    const path = [join(this.root, 'bin'), process.env['PATH']].join(delimiter)
    return spawn(file, args, {
      env: { ...process.env, PATH: path, TICKETING_REQUIRE_SERVICES: '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  async run(command: 'start' | 'test', args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
    return ended(this.spawn(command, args, env))
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 })
  }
}

function program(command: 'start' | 'test'): string {
  return fileURLToPath(new URL(`run-${command}.mjs`, import.meta.url))
}

/** Waits for the end of a process and gives what it printed from now on. */
export async function ended(child: ChildProcess): Promise<Ended> {
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  await once(child, 'close')
  return { code: child.exitCode, signal: child.signalCode, stdout, stderr }
}
