// @ts-check
/**
 * Runs one PostgreSQL server for as long as somebody holds the other end of this process's standard input.
 *
 * The pipe closes whichever way its holder ends: an orderly stop, process.exit, a signal, SIGKILL. Then the server is
 * stopped and its directory removed. So no server outlives the tests or the demo that started it.
 *
 * Argument: a JSON object with `command`, `args`, `cwd`, `env`, `directory` (removed at the end), and where the server
 * runs under another account `uid` and `gid`. Exit code 0: stopped on request. 1: the server ended by itself, and the
 * directory is left for whoever wants to read its log.
 */
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'

const fastShutdownMillisecondsMax = 5_000
const immediateShutdownMillisecondsMax = 10_000

const { command, args, directory, ...options } = JSON.parse(process.argv[2] ?? '{}')
const server = spawn(command, args, { ...options, stdio: ['ignore', 'inherit', 'inherit'], windowsHide: true })
let stopping = false

function stop() {
  if (stopping) return
  stopping = true
  // Fast shutdown (SIGINT) ends the sessions in an orderly way; one that hangs is followed by ever firmer ones.
  server.kill('SIGINT')
  setTimeout(() => server.kill('SIGQUIT'), fastShutdownMillisecondsMax)
  setTimeout(() => server.kill('SIGKILL'), immediateShutdownMillisecondsMax)
}

server.on('error', (error) => {
  console.error(`The server's program could not be started: ${error.message}`)
  process.exit(1)
})

server.on('exit', () => {
  if (!stopping) process.exit(1)
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  process.exit(0)
})

process.stdin.on('close', stop).on('error', stop).resume()
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, stop)
