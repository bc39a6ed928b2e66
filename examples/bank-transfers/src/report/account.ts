import type { Audit, StaleWrite } from '../audit.js'
import { colour, heading, line, money, number } from './style.js'

/** All that a run is judged by. */
export interface RunResult {
  readonly seconds: number
  /** Sections that reported success, those of the next holders included. */
  readonly done: number
  readonly refused: Readonly<Record<string, number>>
  readonly audit: Audit
  /** What else went wrong, in words. */
  readonly faults: readonly string[]
}

/** Whether everything adds up. */
export function isWell({ audit, done, faults }: RunResult): boolean {
  return (
    faults.length === 0 &&
    audit.sumBefore === audit.sumAfter &&
    audit.differences.length === 0 &&
    audit.staleWrites.length === 0 &&
    audit.transfers === done
  )
}

/** The account of a run. */
export function account(result: RunResult): string {
  const { audit, done, refused, seconds, faults } = result
  const matching = audit.accounts - audit.differences.length
  const rows = [
    line('sections done', `${number(done)}, ${number(done / seconds)} per second`),
    line('refused', refusedText(refused)),
    line('in the ledger', judged(audit.transfers === done, `${number(audit.transfers)} transfers`)),
    line('sum before', money(audit.sumBefore)),
    line('sum after', judged(audit.sumAfter === audit.sumBefore, money(audit.sumAfter))),
    line('balances', judged(matching === audit.accounts, `${matching} of ${audit.accounts} equal to their ledger`)),
    line('stale writes', judged(audit.staleWrites.length === 0, number(audit.staleWrites.length))),
    ...audit.staleWrites.flatMap((stale) => lostUpdate(stale, audit)),
    ...faults.map((fault) => line('', colour.red(fault))),
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

/** A stale write, row by row: what it wrote over, and what is missing now. */
function lostUpdate(stale: StaleWrite, { differences }: Audit): readonly string[] {
  const difference = differences.find(({ account }) => account === stale.account)
  const texts = [
    `account ${stale.account}: ledger row ${stale.firstId} (token ${stale.firstToken}) wrote ${money(stale.firstBalance)};`,
    `ledger row ${stale.id} (older token ${stale.token}) wrote ${money(stale.balance)} over it and ` +
      `${number(stale.overwritten - 1)} more, which it had never read;`,
    difference === undefined
      ? `lost there: ${money(Math.abs(stale.lost))}`
      : `balance ${money(difference.balance)}, by its ledger ${money(difference.byLedger)}: ` +
        `${money(Math.abs(difference.byLedger - difference.balance))} lost`,
  ]
  return texts.map((text, index) => line(index === 0 ? '  lost update' : '', colour.red(text)))
}
