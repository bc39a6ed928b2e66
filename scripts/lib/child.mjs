// @ts-check
import { spawn } from 'node:child_process'
import { constants } from 'node:os'

const hasGroups = process.platform !== 'win32'
const outputCharactersMax = 100_000
const parentPollMilliseconds = 250

/** The process that started this one: under npm it is the shell of the script. */
const parent = process.ppid

/**
 * @typedef {object} Finished
 * @property {number} code the exit code; 128 + n if signal n ended the child
 * @property {string} output the end of what it printed, where that was captured
 */

/**
 * Runs a child to its end and passes signals on to it, so that whoever stops this process stops the child.
 *
 * @param {string} file
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, capture?: boolean, shell?: boolean }} [options]
 *   `capture` keeps the output and puts the child, and what it starts, into a process group of their own, without the
 *   terminal; else the child has this process's own streams
 * @returns {Promise<Finished>} rejects only if the program cannot be started
 */
export function runChild(file, args, { capture = false, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(
      file,
      args,
      capture
        ? { ...options, detached: hasGroups, stdio: ['ignore', 'pipe', 'pipe'] }
        : { ...options, stdio: 'inherit' },
    )
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => {
        output = (output + text).slice(-outputCharactersMax)
      })
    }
    const stopPassingOn = passSignalsOn(child, capture && hasGroups)
    child.once('error', (error) => {
      stopPassingOn()
      reject(error)
    })
    child.once('close', (code, signal) => {
      stopPassingOn()
      resolve({ code: code ?? 128 + (signal ? constants.signals[signal] : 0), output })
    })
  })
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {boolean} group whether it leads a process group, all of which has to hear it: a shell keeps signals to itself
 * @returns {() => void} ends it
 */
function passSignalsOn(child, group) {
  /** @param {NodeJS.Signals} signal */
  const pass = (signal) => {
    if (!group) child.kill(signal)
    else if (child.pid !== undefined) killGroup(child.pid, signal)
  }
  /** @param {NodeJS.Signals} signal */
  const interrupt = (signal) => {
    // A terminal's Ctrl-C has reached a child in this group already. Twice might mean "now!" to it.
    if (group || !process.stdin.isTTY) pass(signal)
  }
  process.on('SIGINT', interrupt).on('SIGTERM', pass).on('SIGHUP', pass)
  const parentWatch = watchParent(() => pass('SIGTERM'))
  return () => {
    process.off('SIGINT', interrupt).off('SIGTERM', pass).off('SIGHUP', pass)
    clearInterval(parentWatch)
  }
}

/**
 * Calls back once when the shell that npm put around this process is gone. A signal to npm ends that shell, which
 * passes nothing on: without this the child would run on with nobody to stop it.
 *
 * @param {() => void} gone
 */
function watchParent(gone) {
  if (process.env['npm_lifecycle_event'] === undefined) return undefined
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    gone()
  }, parentPollMilliseconds)
  return watch.unref()
}

/**
 * @param {number} leader
 * @param {NodeJS.Signals} signal
 */
function killGroup(leader, signal) {
  try {
    process.kill(-leader, signal)
  } catch {
    // The whole group has ended meanwhile.
  }
}
