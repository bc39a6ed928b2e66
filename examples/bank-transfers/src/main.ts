import { constants } from 'node:os'
import { CommanderError } from 'commander'
import { type DemoOptions, exitCodes, readCommandLine } from './command-line.js'
import { DemoError } from './demo-error.js'

process.exitCode = await main(process.argv.slice(2))

/** @returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const options = readOrExit(args)
  const interrupted = interruption()
  try {
    // Loaded only now, so that help and mistakes answer without it.
    const { runDemo } = await import('./demo.js')
    const well = await runDemo(options, interrupted, (text) => process.stdout.write(`${text}\n`))
    return well ? exitCodes.well : exitCodes.wrong
  } catch (error) {
    if (interrupted.aborted) return 128 + constants.signals[interrupted.reason as NodeJS.Signals]
    if (!(error instanceof DemoError)) throw error
    process.stderr.write(`error: ${error.message}\n`)
    return exitCodes.notRun
  }
}

function readOrExit(args: readonly string[]): DemoOptions {
  try {
    return readCommandLine(args)
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    // Commander has already written what there is to say.
    process.exit(error.exitCode === 0 ? exitCodes.well : exitCodes.usage)
  }
}

/** Aborts at the first signal, with its name as the reason. By then the same signal once more ends the process at once. */
function interruption(): AbortSignal {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => controller.abort(name))
  return controller.signal
}
