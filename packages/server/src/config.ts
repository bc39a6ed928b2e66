import { leaseSecondsMax, parseAddress, waitSecondsMax } from '@ticketing/protocol'
import { timerMillisecondsMax } from './clock.js'
import type { Logger } from './logger.js'
import { ServerError } from './server-error.js'

/** What a server is started with. Everything has a default; the table below gives it, with its range and unit. */
export interface ServerOptions {
  /** The address to listen on, `host:port`; port 0 takes a free one. */
  readonly listen?: string | undefined
  /** The secrets that clients may use; several allow a rotation. With none, every client is accepted. */
  readonly clientTokens?: readonly string[] | undefined
  readonly sessionsMax?: number | undefined
  readonly sessionsPerAddressMax?: number | undefined
  readonly keysMax?: number | undefined
  readonly waitersMax?: number | undefined
  readonly waitersPerKeyMax?: number | undefined
  readonly outstandingPerSessionMax?: number | undefined
  readonly outputBytesMax?: number | undefined
  readonly idleSeconds?: number | undefined
  /** Where the server reports refusals and closures; by default nowhere. */
  readonly logger?: Logger | undefined
}

/** The options that have a row in the table: all but the logger. */
export type ServerConfig = { readonly [Name in ConfigName]: NonNullable<ServerOptions[Name]> }
export type ConfigName = Exclude<keyof ServerOptions, 'logger'>
export type NumberName = { [Name in ConfigName]: ServerConfig[Name] extends number ? Name : never }[ConfigName]

interface Documented<T> {
  readonly default: T
  /** What the option means, as a sentence. */
  readonly about: string
}

export interface NumberRow extends Documented<number> {
  readonly kind: 'number'
  readonly min: number
  readonly max: number
  readonly unit: string
  /** The option that this one must not exceed. If it is left out, its default is lowered to it. */
  readonly atMost?: NumberName
}

export interface AddressRow extends Documented<string> {
  readonly kind: 'address'
}

export interface SecretsRow extends Documented<readonly string[]> {
  readonly kind: 'secrets'
  readonly countMax: number
  readonly bytesMax: number
}

type RowOf<T> = T extends number ? NumberRow : T extends string ? AddressRow : SecretsRow

/** Every option of the server: type, range, default, unit and meaning. The command line and `startServer` share it. */
export const serverOptionTable: { readonly [Name in ConfigName]: RowOf<ServerConfig[Name]> } = {
  listen: {
    kind: 'address',
    default: '127.0.0.1:5225',
    about: 'The address to listen on, host:port; an IPv6 host stands in brackets. Port 0 takes a free one.',
  },
  clientTokens: {
    kind: 'secrets',
    default: [],
    countMax: 64,
    bytesMax: 1024,
    about: 'A secret that clients may use. Several may be given. Without any, every client is accepted.',
  },
  sessionsMax: {
    kind: 'number',
    default: 16_384,
    min: 1,
    max: 1_000_000,
    unit: 'sessions',
    about: 'Sessions at one time; further ones are refused with too_many_sessions.',
  },
  sessionsPerAddressMax: {
    kind: 'number',
    default: 4096,
    min: 1,
    max: 1_000_000,
    unit: 'sessions',
    atMost: 'sessionsMax',
    about: 'Sessions at one time from one network address; further ones are refused with too_many_sessions.',
  },
  keysMax: {
    kind: 'number',
    default: 1_000_000,
    min: 1,
    max: 10_000_000,
    unit: 'keys',
    about: 'Keys held at one time; an acquire of a further one is answered busy.',
  },
  waitersMax: {
    kind: 'number',
    default: 200_000,
    min: 1,
    max: 10_000_000,
    unit: 'waiters',
    about: 'Queued acquires over all keys; a further one is answered busy.',
  },
  waitersPerKeyMax: {
    kind: 'number',
    default: 10_000,
    min: 1,
    max: 10_000_000,
    unit: 'waiters',
    atMost: 'waitersMax',
    about: 'Queued acquires of one key; a further one is answered busy.',
  },
  outstandingPerSessionMax: {
    kind: 'number',
    default: 10_000,
    min: 1,
    max: 10_000_000,
    unit: 'acquires',
    atMost: 'waitersMax',
    about: 'Queued acquires of one session; a further one is answered busy.',
  },
  outputBytesMax: {
    kind: 'number',
    // Above what the longest replies to a full session's acquires take (154 bytes each), so that a client that reads is
    // never closed for its own requests. The least value is above what a session gathers before it looks whether the
    // client reads: 64 KiB and the replies to one read of 64 KiB.
    default: 2 * 1024 * 1024,
    min: 256 * 1024,
    max: 1024 * 1024 * 1024,
    unit: 'bytes',
    about: 'Replies that one session may leave unread; past it the session is closed.',
  },
  idleSeconds: {
    kind: 'number',
    default: 60,
    min: 5,
    max: 86_400,
    unit: 'seconds',
    about: 'A session from which no byte comes for this long is closed. A client that stays pings well within it.',
  },
}

const timedSecondsMax = Math.max(serverOptionTable.idleSeconds.max, waitSecondsMax, leaseSecondsMax)
if (timedSecondsMax * 1000 > timerMillisecondsMax) throw new Error('A timer of the server could overflow.')

/** Says what is wrong with a value for an option, as the end of a sentence, or `undefined` if nothing is. */
export function optionFault(name: ConfigName, value: unknown): string | undefined {
  const row: NumberRow | AddressRow | SecretsRow = serverOptionTable[name]
  switch (row.kind) {
    case 'number':
      if (typeof value === 'number' && Number.isInteger(value) && value >= row.min && value <= row.max) return undefined
      return `must be a whole number of ${row.unit} from ${row.min} to ${row.max}, not ${shown(value)}`
    case 'address':
      if (typeof value === 'string' && parseAddress(value) !== undefined) return undefined
      return `must be host:port with a port from 0 to 65535 and an IPv6 host in brackets, not ${shown(value)}`
    case 'secrets':
      return secretsFault(value, row)
  }
}

/** Never shows a secret. */
function secretsFault(value: unknown, row: SecretsRow): string | undefined {
  if (!Array.isArray(value)) return 'must be an array of strings'
  if (value.length > row.countMax) return `must hold at most ${row.countMax} tokens, not ${value.length}`
  for (const [index, token] of value.entries()) {
    if (typeof token !== 'string') return `must hold strings only; number ${index + 1} is none`
    const bytes = Buffer.byteLength(token)
    if (bytes === 0 || bytes > row.bytesMax) {
      return `must hold tokens of 1 to ${row.bytesMax} bytes; number ${index + 1} has ${bytes}`
    }
  }
  return undefined
}

/** Says which options contradict each other, or `undefined` if none do. `label` names an option for the reader. */
export function relationFault(config: ServerConfig, label: (name: ConfigName) => string): string | undefined {
  for (const name of numberNames) {
    const above = serverOptionTable[name].atMost
    if (above !== undefined && config[name] > config[above]) {
      return `${label(name)} (${config[name]}) must not be above ${label(above)} (${config[above]})`
    }
  }
  return undefined
}

/** The options that are numbers, in the order of the table. */
export const numberNames = Object.keys(serverOptionTable).filter(
  (name) => serverOptionTable[name as ConfigName].kind === 'number',
) as NumberName[]

/** Fills in the defaults. The values that are given must be free of faults. */
export function withDefaults(given: Partial<ServerConfig>): ServerConfig {
  const numbers = {} as Record<NumberName, number>
  const row = (name: NumberName): NumberRow => serverOptionTable[name]
  const effective = (name: NumberName): number => {
    const above = row(name).atMost
    const byDefault = above === undefined ? row(name).default : Math.min(row(name).default, effective(above))
    return given[name] ?? byDefault
  }
  for (const name of numberNames) numbers[name] = effective(name)
  return {
    listen: given.listen ?? serverOptionTable.listen.default,
    clientTokens: [...(given.clientTokens ?? serverOptionTable.clientTokens.default)],
    ...numbers,
  }
}

/**
 * Checks the options and fills in the defaults. The caller's object is not changed or kept.
 *
 * @throws {ServerError} `SERVER_INVALID_OPTION`, naming the option, the value and the range.
 */
export function readConfig(options: ServerOptions): ServerConfig {
  const refuse = (fault: string) => {
    throw new ServerError('SERVER_INVALID_OPTION', `${fault}. No server was started.`)
  }
  for (const [name, value] of Object.entries(options)) {
    if (name === 'logger') {
      if (!isLogger(value)) refuse('The option logger must have the methods info, warn and error')
      continue
    }
    if (!Object.hasOwn(serverOptionTable, name)) {
      refuse(`${name} is no option of the server; there are ${Object.keys(serverOptionTable).join(', ')} and logger`)
    }
    const fault = value === undefined ? undefined : optionFault(name as ConfigName, value)
    if (fault !== undefined) refuse(`The option ${name} ${fault}`)
  }
  const config = withDefaults(options as Partial<ServerConfig>)
  const fault = relationFault(config, (name) => name)
  if (fault !== undefined) refuse(`The option ${fault}`)
  return config
}

function isLogger(value: unknown): boolean {
  if (value === undefined) return true
  const methods = ['info', 'warn', 'error'] as const
  return (
    typeof value === 'object' &&
    value !== null &&
    methods.every((name) => typeof (value as Logger)[name] === 'function')
  )
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 300)) : String(value)
}
