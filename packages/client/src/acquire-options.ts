import { keyFault, leaseSecondsMax, leaseSecondsMin, waitSecondsMax, waitSecondsMin } from '@ticketing/protocol'
import type { AcquireOptions } from './broker.js'
import { TicketError } from './ticket-errors.js'

/** The seconds between which a value must lie, both included. */
export interface SecondsRange {
  readonly min: number
  readonly max: number
}

/** The times of an acquire as the wire carries them: whole seconds within their ranges (C13). */
export interface AcquireTimes {
  readonly waitSeconds: number
  readonly leaseSeconds: number
  readonly minWorkSeconds: number
}

/** What an acquire asks for, checked. */
export interface AcquireSettings extends AcquireTimes {
  readonly key: string
  readonly signal: AbortSignal | undefined
}

const waitRange: SecondsRange = { min: waitSecondsMin, max: waitSecondsMax }
const leaseRange: SecondsRange = { min: leaseSecondsMin, max: leaseSecondsMax }
const minWorkRange: SecondsRange = { min: 0, max: leaseSecondsMax }
const acquireOptionNames = ['wait', 'lease', 'minWork', 'signal']
const durationText = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(ms|s)$/i

/** The error for an argument that was refused before anything was sent (C13). */
export function invalidArgument(fault: string): TicketError {
  return new TicketError('TICKET_INVALID_ARGUMENT', 'not-executed', `${fault} Nothing was sent.`)
}

/**
 * Reads a duration: a number is seconds, a string carries its unit (`'500ms'`, `'5s'`). Nothing is rounded or clamped.
 *
 * @param field - the name of the argument, for the message.
 * @returns seconds, possibly with a fraction.
 * @throws {TicketError} `TICKET_INVALID_ARGUMENT` where it is no duration or out of range (C13).
 */
export function parseDuration(field: string, value: unknown, range: SecondsRange): number {
  const allowed = `${range.min} to ${range.max} seconds`
  if (value === undefined) {
    throw invalidArgument(
      `${field} is required: ${allowed}, as a number of seconds or a string such as '5s' or '500ms'.`,
    )
  }
  const seconds = readSeconds(value)
  if (seconds === undefined) {
    throw invalidArgument(
      `${field} must be ${allowed}, as a number of seconds or a string such as '5s' or '500ms', got ${shown(value)}.`,
    )
  }
  if (!(seconds >= range.min && seconds <= range.max)) {
    const meant = seconds / 1000
    const hint =
      typeof value === 'number' && value > range.max && meant >= range.min && meant <= range.max
        ? ` A number is seconds; for milliseconds write '${value}ms'.`
        : ''
    throw invalidArgument(`${field} must be ${allowed}, got ${shown(value)}${numberUnit(value)}.${hint}`)
  }
  return seconds
}

/**
 * Checks the times of an acquire and rounds each up to whole seconds, after its range was checked (C13).
 *
 * @throws {TicketError} `TICKET_INVALID_ARGUMENT` naming the field, the value and the range.
 */
export function normaliseTimes(times: Pick<AcquireOptions, 'wait' | 'lease' | 'minWork'>): AcquireTimes {
  const waitSeconds = wholeSeconds('wait', times.wait, waitRange)
  const leaseSeconds = wholeSeconds('lease', times.lease, leaseRange)
  const minWorkSeconds = wholeSeconds('minWork', times.minWork, minWorkRange)
  if (minWorkSeconds > leaseSeconds) {
    throw invalidArgument(
      `minWork must be 0 seconds up to the lease, which is ${leaseSeconds} seconds here, got ${shown(times.minWork)}${numberUnit(times.minWork)}. Ask for a longer lease, up to ${leaseSecondsMax} seconds.`,
    )
  }
  return { waitSeconds, leaseSeconds, minWorkSeconds }
}

/**
 * Checks everything that an acquire is given. The caller's object is read once and not kept.
 *
 * @throws {TicketError} `TICKET_INVALID_ARGUMENT`.
 */
export function checkAcquire(key: unknown, options: unknown): AcquireSettings {
  const fault = keyFault(key)
  if (fault !== undefined) throw invalidArgument(`The key ${fault}.`)
  checkOptionNames('acquire', options, acquireOptionNames)
  const { wait, lease, minWork, signal } = options as AcquireOptions
  if (signal !== undefined && !isAbortSignal(signal)) {
    throw invalidArgument(`signal must be an AbortSignal, got ${shown(signal)}.`)
  }
  return { key: key as string, ...normaliseTimes({ wait, lease, minWork }), signal }
}

/** Refuses what is no options object, and options that do not exist, by name: a misspelt option must not be ignored. */
export function checkOptionNames(call: string, options: unknown, names: readonly string[]): void {
  if (typeof options !== 'object' || options === null) {
    throw invalidArgument(`${call} takes an object with the options ${names.join(', ')}, got ${shown(options)}.`)
  }
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) {
      throw invalidArgument(`${call} has no option ${JSON.stringify(name)}; there are ${names.join(', ')}.`)
    }
  }
}

/** A value as a message shows it. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value)
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value === 'bigint') return `${value}n`
  return Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : typeof value
}

/** Rounds up; adding 0 turns -0 into 0. */
function wholeSeconds(field: string, value: unknown, range: SecondsRange): number {
  return Math.ceil(parseDuration(field, value, range)) + 0
}

function readSeconds(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  const match = typeof value === 'string' ? durationText.exec(value) : null
  if (match === null) return undefined
  const amount = Number(match[1])
  return match[2]?.toLowerCase() === 'ms' ? amount / 1000 : amount
}

function numberUnit(value: unknown): string {
  return typeof value === 'number' ? ' (seconds)' : ''
}

function isAbortSignal(value: unknown): value is AbortSignal {
  const signal = value as Partial<AbortSignal> | null
  return (
    typeof signal === 'object' && typeof signal?.aborted === 'boolean' && typeof signal.addEventListener === 'function'
  )
}
