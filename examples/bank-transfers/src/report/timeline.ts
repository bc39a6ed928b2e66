import type { StopPoint } from '../holder-process.js'
import type { StallOver } from '../stall-process.js'
import type { Order } from '../transfer.js'
import { colour, heading } from './style.js'

/** A stall as it was planned and as it went. */
export interface ToldStall {
  readonly stopPoint: StopPoint
  readonly order: Order
  readonly over: StallOver
}

const titles: Record<StopPoint, string> = {
  'before-begin': 'stopped between the last check of its lease and BEGIN',
  'in-transaction': 'stopped inside its transaction, late in its lease',
  'after-read': 'stopped after it had read the balances, without the fence',
}

const stopTexts: Record<StopPoint, string> = {
  'before-begin': 'SIGSTOP at the write of BEGIN, of which no byte has left',
  'in-transaction': 'SIGSTOP after its reads and a write, before COMMIT',
  'after-read': 'SIGSTOP after its reads, before its writes',
}

type Event = readonly [at: number, name: string, text: string]

/** What happened to one holder, in seconds since its grant. */
export function timeline({ stopPoint, order, over }: ToldStall, index: number, bound: string): string {
  const { key, granted, stopped, databaseEndedAt, successor, wokenAt, ended } = over
  const token = granted.tokens.get(key)
  const events: Event[] = [
    [granted.at, colour.cyan('granted'), `token ${token} of ${key}`],
    [stopped.at, colour.yellow('stopped'), stopTexts[stopPoint]],
    [granted.leaseEndsAt, colour.yellow('lease over'), 'while it stands still'],
    ...(databaseEndedAt === undefined ? [] : [rolledBackEvent(databaseEndedAt, bound)]),
    ...successorEvents(successor, key),
    [wokenAt, colour.yellow('woken'), 'SIGCONT'],
    ended.refusal === undefined
      ? [ended.at, colour.red('committed'), 'its transfer, over those that came after its read']
      : [ended.at, colour.green('refused'), refusalText(over)],
  ]
  const lines = events
    .sort(([a], [b]) => a - b)
    .map(([at, name, text]) => `  ${seconds(at - granted.at)}  ${pad(name)} ${text}`)
  const title = `Holder ${index + 1}, accounts ${order.from} and ${order.to}: ${titles[stopPoint]}`
  return [heading(title), ...lines].join('\n')
}

function rolledBackEvent(at: number, bound: string): Event {
  return [at, colour.cyan('rolled back'), `by the database itself; its bound is ${bound}`]
}

function successorEvents(successor: StallOver['successor'], key: string): Event[] {
  if ('refusedAt' in successor) return [[successor.refusedAt, colour.red('next holder'), 'was refused']]
  return [
    [successor.enteredAt, colour.cyan('next holder'), `token ${successor.token} of ${key}, in its turn in the queue`],
    [successor.committedAt, colour.cyan('committed'), "the next holder's transfer; others follow"],
  ]
}

function refusalText({ ended, databaseEndedAt }: StallOver): string {
  const { code, stale } = ended.refusal ?? { code: '' }
  if (stale !== undefined) {
    return `${code}: token ${stale.token} is not above the stored high-water ${stale.highWater} of ${stale.key}`
  }
  return databaseEndedAt === undefined ? code : `${code}: its writes are gone`
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(3).padStart(7)} s`
}

/** Pads to the width that is seen: colours take none. */
function pad(text: string): string {
  const seen = text.replaceAll(/\u001b\[\d+m/g, '').length
  return text + ' '.repeat(Math.max(0, 12 - seen))
}
