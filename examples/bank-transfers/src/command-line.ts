import { randomInt } from 'node:crypto'
import { parseAddress } from '@ticketing/protocol'
import { Command, InvalidArgumentError } from 'commander'
import { schema } from './transfer.js'

export interface DemoOptions {
  /** Undefined: the demo starts an embedded PostgreSQL. */
  readonly databaseUrl?: string
  /** Undefined: the demo starts a server. */
  readonly server?: readonly string[]
  readonly clientToken: string
  readonly seconds: number
  readonly workers: number
  readonly accounts: number
  readonly seed: number
  readonly unfenced: boolean
}

type Defaulted = 'seed' | 'unfenced' | 'clientToken'
type Given = Omit<DemoOptions, Defaulted> & Partial<Pick<DemoOptions, Defaulted>>

/** How the demo ends, besides 128 + n after signal n. */
export const exitCodes = { well: 0, wrong: 1, usage: 2, notRun: 3 }

const seedMax = 2_147_483_647

/**
 * Reads the command line. Help and mistakes are written and end in a `CommanderError`; its `exitCode` is 0 for help.
 */
export function readCommandLine(args: readonly string[]): DemoOptions {
  const command = new Command('npm start --')
    .description(
      'A bank under load: workers transfer money between accounts, each transfer a fenced critical section on PostgreSQL.\n' +
        'Meanwhile two holders are stopped past their lease (SIGSTOP), overtaken, and woken. Then the books are checked.',
    )
    .usage('[options]')
    .helpOption('--help', 'Print this help and exit.')
    .configureHelp({ sortOptions: false })
    .exitOverride()
    .option(
      '--seconds <n>',
      help('How long the workers work, at least until both stalls are over', 1, 600),
      whole(1, 600),
      8,
    )
    .option('--workers <n>', help('Workers, in two processes or more', 8, 64), whole(8, 64), 8)
    .option('--accounts <n>', help('Accounts of the bank', 8, 10_000), whole(8, 10_000), 40)
    .option(
      '--seed <n>',
      `${help('Seed of the random transfers', 0, seedMax)} By default a new one.`,
      whole(0, seedMax),
    )
    .option('--unfenced', 'Lock only, without the fence: shows the lost update, and exits with 1.')
    .option(
      '--database-url <url>',
      `An existing PostgreSQL instead of an embedded one. The schema ${schema} is made anew in it and left for you to look at; ` +
        'nothing else is touched.',
      databaseUrl,
    )
    .option(
      '--server <host:port,…>',
      'An existing Ticketing server, or all of a cluster, instead of one of its own.',
      addresses,
    )
    .option('--client-token <secret>', 'A client token of that server.')
    .addHelpText('after', exitCodeHelp)
  command.parse(args, { from: 'user' })
  const { seed = randomInt(seedMax), unfenced = false, clientToken = '', ...given } = command.opts<Given>()
  return { ...given, seed, unfenced, clientToken }
}

const exitCodeHelp = `
Exit codes: 0 all adds up; 1 a sum, a balance or a ledger is wrong, a stale write landed, or an expected refusal did not
happen (always with --unfenced); 2 a mistake on the command line; 3 it could not be run; 130 and 143 after SIGINT and SIGTERM.`

function help(about: string, min: number, max: number): string {
  return `${about}. ${min} to ${max}.`
}

function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}

function databaseUrl(text: string): string {
  const protocol = URL.canParse(text) ? new URL(text).protocol : ''
  if (protocol === 'postgresql:' || protocol === 'postgres:') return text
  throw new InvalidArgumentError('It must be a URL such as postgresql://user:password@host:5432/database.')
}

function addresses(text: string): readonly string[] {
  const list = text.split(',')
  for (const address of list) {
    const port = parseAddress(address)?.port
    if (port === undefined || port === 0) {
      throw new InvalidArgumentError(`Each address must be host:port with a port from 1 to 65535, not "${address}".`)
    }
  }
  return list
}
