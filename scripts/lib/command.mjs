// @ts-check
import { fileURLToPath } from 'node:url'

/** The repository's top directory. */
export const repository = fileURLToPath(new URL('../../', import.meta.url))

/** Something the person at the terminal has to know or do; shown without a stack. */
export class SetUpError extends Error {
  /**
   * @param {string} message what happened, what was not done, and what to do next
   * @param {number} [exitCode]
   */
  constructor(message, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/**
 * One short line about the set-up. On standard error, so that standard output is the command's own.
 *
 * @param {string} message
 */
export function progress(message) {
  process.stderr.write(`ticketing: ${message}\n`)
}

/**
 * Runs a command and makes its result the exit code of this process.
 *
 * @param {() => Promise<number>} work resolves to the exit code
 */
export async function command(work) {
  try {
    process.exitCode = await work()
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error
    progress(error.message)
    process.exitCode = error.exitCode
  }
}
