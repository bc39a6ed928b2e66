import { type Broker, type Duration, normaliseTimes, TicketError } from '@ticketing/client'
import { compareKeys, keyFault } from '@ticketing/protocol'
import { FenceError, invalidArgument, shown } from './fence-errors.js'
import type { FenceLogger } from './fence-events.js'
import type { IsolationLevel } from './transaction-host.js'

/** What a section asks for. Times are seconds as a number, or a string with a unit (`'500ms'`, `'5s'`). */
export interface SectionOptions {
  /** How long to queue for the keys in total, 0–255 s; 0 is one immediate try (F8). */
  readonly wait: Duration
  /** How long the grant holds if nobody releases it, 1–250 s; the transaction is bounded by what remains of it (F4). */
  readonly lease: Duration
  /** The least remaining lease with which the section may still begin; 0 up to the lease (F3). */
  readonly minWork: Duration
  /** The transaction's isolation level; the database's default without it. */
  readonly isolation?: IsolationLevel | undefined
  /** How often the work may be run again after a serialisation failure or deadlock, 0–100; default 0 (F5). */
  readonly retries?: number | undefined
  /** Cancels the section up to its COMMIT (F15). */
  readonly signal?: AbortSignal | undefined
}

/** What a section asks for that runs with tickets its caller already has. */
export type OwnTicketOptions = Partial<Pick<SectionOptions, 'minWork' | 'isolation' | 'retries' | 'signal'>>

/** Options that a fence may give to all its sections. */
export type SectionDefaults = Partial<Omit<SectionOptions, 'signal'>>

/** What remains to be given at a call: what the defaults give is optional. */
export type SectionOptionsFor<Defaults extends SectionDefaults> = Partial<SectionOptions> &
  Omit<SectionOptions, keyof Defaults & ('wait' | 'lease' | 'minWork')>

export interface FenceOptions<Defaults extends SectionDefaults = SectionDefaults> {
  /** The lock service, shared by all fences of the process. */
  readonly broker: Broker
  /** The fence's table, `table` or `schema.table`; default `ticketing_fence`. Its floor is `<table>_floor`. */
  readonly table?: string | undefined
  readonly defaults?: Defaults | undefined
  /** Hears of what happens on the side; silent without one. */
  readonly logger?: FenceLogger | undefined
}

/** Checked options of a section: whole seconds, everything present. */
export interface SectionSettings {
  /** Without duplicates, in the order of their UTF-8 bytes (F8). */
  readonly keys: readonly string[]
  readonly minWorkSeconds: number
  readonly isolation: IsolationLevel | undefined
  readonly retries: number
  readonly signal: AbortSignal | undefined
}

/** And what its acquire asks for. */
export interface AcquiringSettings extends SectionSettings {
  readonly waitSeconds: number
  readonly leaseSeconds: number
}

/** More keys than this in one section are refused: each costs a round trip and holds up everyone behind it. */
export const sectionKeysMax = 64
const retriesMax = 100
/** The fence's table where none is named. */
export const defaultTable = 'ticketing_fence'
const isolationLevels: readonly string[] = ['read committed', 'repeatable read', 'serializable']
const defaultNames = ['wait', 'lease', 'minWork', 'isolation', 'retries']
const optionNames = [...defaultNames, 'signal']
const ownTicketNames = ['minWork', 'isolation', 'retries', 'signal']
const leaseSecondsMax = 250

/**
 * Checks what `run` was given, before anything is sent.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT`, naming the field, the value and the range.
 */
export function checkSection(keys: unknown, options: unknown, defaults: SectionDefaults): AcquiringSettings {
  refuseUnknown('options', options, optionNames)
  const merged = withDefaults(options, defaults)
  return { keys: checkKeys(keys), ...checkTimes(merged), ...checkRest(merged) }
}

/**
 * Checks what `runWith` was given beside its tickets. Their acquire has checked a minimum work already, so none is asked for.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT`, naming the field, the value and the range.
 */
export function checkOwnTicketSection(
  keys: readonly string[],
  options: unknown,
  defaults: SectionDefaults,
): SectionSettings {
  refuseUnknown('options', options, ownTicketNames)
  const merged = withDefaults(options, defaults)
  const { minWorkSeconds } = checkTimes({ wait: 0, lease: leaseSecondsMax, minWork: merged.minWork ?? 0 })
  return { keys, minWorkSeconds, ...checkRest(merged) }
}

function withDefaults(options: object, defaults: SectionDefaults): Partial<SectionOptions> {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  return { ...defaults, ...given }
}

function checkRest(options: Partial<SectionOptions>) {
  return {
    isolation: checkIsolation(options.isolation),
    retries: checkRetries(options.retries),
    signal: checkSignal(options.signal),
  }
}

/**
 * Checks what a fence was made with. Defaults are checked one by one here, together at each call.
 *
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT`.
 */
export function checkFenceOptions(options: FenceOptions, more: readonly string[]): SectionDefaults {
  refuseUnknown('options', options, ['broker', 'table', 'defaults', 'logger', ...more])
  if (typeof (options.broker as Partial<Broker> | undefined)?.acquire !== 'function') {
    throw invalidArgument('broker', 'must be a TicketBroker, or an object with its acquire method')
  }
  if (options.table !== undefined && typeof options.table !== 'string') {
    throw invalidArgument('table', `must be a string, "table" or "schema.table", not ${shown(options.table)}`)
  }
  if (options.logger !== undefined && typeof options.logger?.warn !== 'function') {
    throw invalidArgument('logger', 'must have a warn method, as pino and console have')
  }
  const given = options.defaults === undefined ? {} : options.defaults
  refuseUnknown('defaults', given, defaultNames)
  const defaults: SectionDefaults = { ...given }
  // A full set of times is made of the given ones and of valid stand-ins, so that a bad default shows now, not at a call.
  const lease = defaults.lease ?? leaseSecondsMax
  checkTimes({ wait: defaults.wait ?? 0, lease, minWork: defaults.minWork ?? 0 })
  checkIsolation(defaults.isolation)
  checkRetries(defaults.retries)
  return defaults
}

function checkKeys(keys: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(keys) ? keys : [keys]
  if (list.length === 0) throw invalidArgument('keys', 'must be a key or a list of 1 to 64 keys, not an empty list')
  if (list.length > sectionKeysMax) {
    throw invalidArgument('keys', `must be 1 to ${sectionKeysMax} keys, not ${list.length}`)
  }
  for (const key of list) {
    const fault = keyFault(key)
    if (fault !== undefined) throw invalidArgument(`key ${shown(key)}`, `the key ${fault}`)
  }
  return [...new Set(list as readonly string[])].sort(compareKeys)
}

function checkTimes(options: Partial<SectionOptions>) {
  try {
    return normaliseTimes(options as SectionOptions)
  } catch (error) {
    if (!(error instanceof TicketError)) throw error
    throw new FenceError('FENCE_INVALID_ARGUMENT', 'not-executed', error.message, { cause: error })
  }
}

function checkIsolation(isolation: unknown): IsolationLevel | undefined {
  if (isolation === undefined || isolationLevels.includes(isolation as string)) return isolation as IsolationLevel
  throw invalidArgument('isolation', `must be one of ${isolationLevels.join(', ')}, not ${shown(isolation)}`)
}

function checkRetries(retries: unknown): number {
  if (retries === undefined) return 0
  if (Number.isInteger(retries) && (retries as number) >= 0 && (retries as number) <= retriesMax)
    return retries as number
  throw invalidArgument('retries', `must be a whole number from 0 to ${retriesMax}, not ${shown(retries)}`)
}

function checkSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal
  throw invalidArgument('signal', `must be an AbortSignal, not ${shown(signal)}`)
}

function refuseUnknown(what: string, options: unknown, known: readonly string[]): asserts options is object {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalidArgument(what, `must be an object with ${known.join(', ')}, not ${shown(options)}`)
  }
  const unknown = Object.keys(options).filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    throw invalidArgument(what, `unknown option ${unknown.map(shown).join(', ')}; known are ${known.join(', ')}`)
  }
}
