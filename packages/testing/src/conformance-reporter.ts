import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { conformanceTitle } from './conformance/title.js'

type State = 'held' | 'FAILED' | 'not supported' | 'not run'

interface Cell {
  readonly states: Set<State>
  /** Why a rule, or a part of it, is not supported. */
  readonly reasons: Set<string>
}

const failedMark = 'FAILED'

/** A cell shows the worst of its tests. */
function markOf({ states }: Cell): string {
  if (states.has('FAILED')) return failedMark
  if (states.has('not run')) return '?'
  if (states.has('not supported')) return states.has('held') ? 'part' : 'no'
  return '+'
}

/**
 * Prints, at the end of a Vitest run, which adapter holds which rule of the fence: adapter × rule, from the titles of the
 * conformance suite's tests.
 */
export default class ConformanceReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const matrix = collect(modules)
    if (matrix.size > 0) console.log(`\n${render(matrix)}\n`)
  }
}

function collect(modules: readonly TestModule[]): Map<string, Map<string, Cell>> {
  const matrix = new Map<string, Map<string, Cell>>()
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const adapter = adapterOf(test)
      if (adapter === undefined) continue
      const cells = matrix.get(adapter) ?? new Map<string, Cell>()
      matrix.set(adapter, cells)
      for (const id of idsOf(test.name)) addTo(cells, id, test)
    }
  }
  return matrix
}

function adapterOf(test: TestCase): string | undefined {
  const outermost = test.fullName.split(' > ')[0] ?? ''
  return outermost.startsWith(conformanceTitle) ? outermost.slice(conformanceTitle.length) : undefined
}

/** `F12, fault 1: …` proves F12 and fault 1. */
function idsOf(title: string): string[] {
  return (title.split(':')[0] ?? '').split(', ')
}

function addTo(cells: Map<string, Cell>, id: string, test: TestCase): void {
  const { state, reason } = judge(test)
  const cell = cells.get(id) ?? { states: new Set<State>(), reasons: new Set<string>() }
  cell.states.add(state)
  if (reason !== undefined) cell.reasons.add(reason)
  cells.set(id, cell)
}

function judge(test: TestCase): { readonly state: State; readonly reason?: string } {
  const result = test.result()
  if (result.state === 'passed') return { state: 'held' }
  if (result.state === 'failed') return { state: 'FAILED' }
  if (result.state === 'skipped' && result.note !== undefined) return { state: 'not supported', reason: result.note }
  return { state: 'not run' }
}

function render(matrix: Map<string, Map<string, Cell>>): string {
  const adapters = [...matrix.keys()].sort()
  const ids = [...new Set(adapters.flatMap((adapter) => [...(matrix.get(adapter)?.keys() ?? [])]))].sort(byNumber)
  const width = Math.max(...ids.map((id) => id.length))
  const columns = adapters.map((adapter) => Math.max(adapter.length, failedMark.length))
  const line = (first: string, cells: readonly string[]) =>
    [first.padEnd(width), ...cells.map((cell, index) => cell.padEnd(columns[index] ?? 0))].join('  ').trimEnd()
  const rows = ids.map((id) => {
    const cells = adapters.map((adapter) => matrix.get(adapter)?.get(id))
    return line(
      id,
      cells.map((cell) => (cell === undefined ? '' : markOf(cell))),
    )
  })
  const notes = adapters.flatMap((adapter) => notesOf(adapter, matrix.get(adapter) ?? new Map<string, Cell>()))
  return [
    'The fence’s rules by adapter: + held, part: held but for what is named below, no: not supported, ? not run',
    line('', adapters),
    ...rows,
    ...notes,
  ].join('\n')
}

function notesOf(adapter: string, cells: Map<string, Cell>): string[] {
  const reasons = new Map<string, string[]>()
  for (const [id, cell] of cells) {
    for (const reason of cell.reasons) reasons.set(reason, [...(reasons.get(reason) ?? []), id])
  }
  return [...reasons].map(([reason, ids]) => `${adapter}, ${ids.sort(byNumber).join(', ')}: ${reason}`)
}

/** F2 before F12, rules before faults. */
function byNumber(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true })
}
