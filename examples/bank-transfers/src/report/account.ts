import type { Audit, LostUpdate } from '../audit.js'
import { colour, heading, line, money, number } from './style.js'

/** Where very much is wrong, the first lines tell enough. */
const explainedLinesMax = 20

/** All that a run is judged by. */
export interface RunResult {
  readonly seconds: number
  /** Sections that reported success, those of the next holders included. */
  readonly done: number
  readonly refused: Readonly<Record<string, number>>
  /** The sum of all balances when the bank opened, in cents. */
  readonly sumBefore: number
  readonly audit: Audit
  /** What else went wrong, in words. */
  readonly faults: readonly string[]
}

/** Whether everything adds up. */
export function isWell({ audit, sumBefore, done, faults }: RunResult): boolean {
  return (
    faults.length === 0 &&
    audit.sumOfBalances === sumBefore &&
    audit.differences.length === 0 &&
    audit.staleWrites === 0 &&
    audit.lostUpdates.length === 0 &&
    audit.transfers === done
  )
}

/** The account of a run. */
export function account(result: RunResult): string {
  const { audit, sumBefore, done, refused, seconds, faults } = result
  const { accounts, sumOfBalances, transfers, differences, staleWrites, lostUpdates } = audit
  const matching = accounts - differences.length
  const rows = [
    line('sections done', `${number(done)}, ${number(done / seconds)} per second`),
    line('refused', refusedText(refused)),
    line('in the ledger', judged(transfers === done, `${number(transfers)} transfers`)),
    line('sum before', money(sumBefore)),
    line('sum after', judged(sumOfBalances === sumBefore, money(sumOfBalances))),
    line('balances', judged(matching === accounts, `${matching} of ${accounts} equal to their ledger`)),
    line('stale writes', judged(staleWrites === 0, number(staleWrites))),
    line('lost updates', judged(lostUpdates.length === 0, number(lostUpdates.length))),
    ...explained(audit).map((text) => `    ${colour.red(text)}`),
    ...faults.map((fault) => `  ${colour.red(fault)}`),
  ]
  const verdict = isWell(result)
    ? colour.green('All adds up: no stale write landed.')
    : colour.red('It does not add up.')
  return [heading('Account'), ...rows, '', verdict].join('\n')
}

function refusedText(refused: Readonly<Record<string, number>>): string {
  const codes = Object.entries(refused)
  const total = codes.reduce((sum, [, count]) => sum + count, 0)
  return codes.length === 0 ? '0' : `${number(total)}: ${codes.map(([code, n]) => `${code} ${number(n)}`).join(', ')}`
}

function judged(holds: boolean, text: string): string {
  return `${text}  ${holds ? colour.green('ok') : colour.red('WRONG')}`
}

/** Each account that is wrong: its balance against its ledger, and the rows that wrote over others. */
function explained({ differences, lostUpdates }: Audit): readonly string[] {
  const wrong = new Set([...differences, ...lostUpdates].map(({ account }) => account))
  const texts = [...wrong].flatMap((account) => {
    const updates = lostUpdates.filter((update) => update.account === account)
    const difference = differences.find((one) => one.account === account)
    if (difference === undefined)
      return [`account ${account}: as its ledger, by chance`, ...updates.map(lostUpdateText)]
    const { balance, byLedger } = difference
    const heading =
      `account ${account}: balance ${money(balance)}, by its ledger ${money(byLedger)}; ` +
      `${money(Math.abs(byLedger - balance))} ${balance < byLedger ? 'lost' : 'too much'}`
    return [heading, ...updates.map(lostUpdateText)]
  })
  const more = texts.length - explainedLinesMax
  return more > 0 ? [...texts.slice(0, explainedLinesMax), `and ${number(more)} lines more`] : texts
}

function lostUpdateText({ id, token, balance, firstId, lastId, rows, lost }: LostUpdate): string {
  const unread = rows === 1 ? `row ${firstId}` : `${number(rows)} rows from ${firstId} to ${lastId}`
  return `  ledger row ${id} (token ${token}) wrote ${money(balance)}, without ${unread}: a change of ${money(lost)} lost`
}
