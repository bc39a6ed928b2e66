// @ts-check
import { spawn } from 'node:child_process'
import { constants } from 'node:os'

const outputCharactersMax = 100_000

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
 *   `capture` keeps the output and gives the child no input; else the child has this process's own streams
 * @returns {Promise<Finished>} rejects only if the program cannot be started
 */
export function runChild(file, args, { capture = false, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { ...options, stdio: capture ? ['ignore', 'pipe', 'pipe'] : 'inherit' })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => {
        output = (output + text).slice(-outputCharactersMax)
      })
    }
    const stopPassingOn = passSignalsOn(child)
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
 * @returns {() => void} ends it
 */
function passSignalsOn(child) {
  /** @param {NodeJS.Signals} signal */
  const pass = (signal) => child.kill(signal)
  // A terminal's Ctrl-C has reached the child already: it goes to the whole foreground. Twice might mean "now!" to it.
  const interrupt = () => process.stdin.isTTY || child.kill('SIGINT')
  process.on('SIGINT', interrupt).on('SIGTERM', pass).on('SIGHUP', pass)
  return () => process.off('SIGINT', interrupt).off('SIGTERM', pass).off('SIGHUP', pass)
}
