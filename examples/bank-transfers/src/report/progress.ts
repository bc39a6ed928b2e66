import { clearLine, cursorTo } from 'node:readline'
import type { WorkerTally } from '../worker-process.js'
import { canRewrite, number } from './style.js'

const rewriteMilliseconds = 100
const plainMilliseconds = 1_000

/** Shows how far a run is: one line that changes on a terminal, a line each second elsewhere. Returns what ends it. */
export function showProgress(describe: () => string): () => void {
  const write = () => {
    const text = describe()
    if (!canRewrite) return void process.stdout.write(`  ${text}\n`)
    cursorTo(process.stdout, 0)
    // A line that wraps could not be rewritten.
    process.stdout.write(`  ${text}`.slice(0, process.stdout.columns - 1))
    clearLine(process.stdout, 1)
  }
  const timer = setInterval(write, canRewrite ? rewriteMilliseconds : plainMilliseconds)
  return () => {
    clearInterval(timer)
    if (!canRewrite) return
    cursorTo(process.stdout, 0)
    clearLine(process.stdout, 0)
  }
}

/** How a run stands. */
export function progressText(seconds: number, { done, refused }: WorkerTally, phases: readonly string[]): string {
  const rate = number(done / Math.max(seconds, 0.001))
  const refusals = Object.values(refused).reduce((sum, count) => sum + count, 0)
  const holders = phases.map((phase, index) => `holder ${index + 1} ${phase}`).join(', ')
  return `${seconds.toFixed(1).padStart(5)} s  ${number(done)} sections, ${rate}/s, ${number(refusals)} refused; ${holders}`
}
