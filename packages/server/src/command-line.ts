import { Command, InvalidArgumentError, Option } from 'commander'
import { clientTokensVariable, gatherClientTokens } from './client-token-sources.js'
import {
  type ConfigName,
  numberNames,
  optionFault,
  relationFault,
  type ServerConfig,
  serverOptionTable,
  withDefaults,
} from './config.js'

/** The flag of an option: `sessionsMax` is `--sessions-max`. */
export function flagOf(name: ConfigName): string {
  return name === 'clientTokens'
    ? '--client-token'
    : `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/**
 * Reads the command line. Help, version and mistakes are written and end in a `CommanderError`; its `exitCode` is 0 for
 * the first two and 2 for mistakes.
 */
export function readCommandLine(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
): ServerConfig {
  const command = describeCommand(version)
  command.parse(args, { from: 'user' })
  const given = command.opts<Partial<ServerConfig> & { clientToken?: string[]; clientTokenFile?: string[] }>()
  const { clientToken: flags = [], clientTokenFile: files = [], ...rest } = given
  const refuse = (fault: string): never => command.error(`error: ${fault}`, { exitCode: 2 })
  let clientTokens: string[] = []
  try {
    clientTokens = gatherClientTokens({ flags, files, variable: environment[clientTokensVariable] })
  } catch (error) {
    refuse((error as Error).message)
  }
  const secretsFault = optionFault('clientTokens', clientTokens)
  if (secretsFault !== undefined) refuse(`the client tokens (flags, files and environment together) ${secretsFault}`)
  const config = withDefaults({ ...rest, clientTokens })
  const fault = relationFault(config, flagOf)
  if (fault !== undefined) refuse(fault)
  return config
}

/** One flag for each row of the options table; its help is made from the row. */
function describeCommand(version: string): Command {
  const { listen, clientTokens } = serverOptionTable
  const command = new Command('ticketing-server')
    .description('The Ticketing lock server: single mode, in memory.')
    .version(version, '--version', 'Print the version and exit.')
    .helpOption('--help', 'Print this help and exit.')
    .configureHelp({ sortOptions: false })
    // A mistyped --client-token=… must not show its secret.
    .configureOutput({ outputError: (text, write) => write(text.replace(/(unknown option '[^=']*)=.*'/s, "$1'")) })
    .exitOverride()
    .addOption(
      new Option('--listen <host:port>', `${listen.about} Default ${listen.default}.`).argParser((text) =>
        checked('listen', text),
      ),
    )
    .addOption(new Option('--client-token <secret>', clientTokens.about).argParser(collect))
    .addOption(new Option('--client-token-file <file>', 'A file of client tokens, one a line.').argParser(collect))
  for (const name of numberNames) {
    const { about, unit, min, max, default: value, atMost } = serverOptionTable[name]
    const lowered = atMost === undefined ? '' : `, or ${flagOf(atMost)} if that is lower`
    command.addOption(
      new Option(
        `${flagOf(name)} <${unit}>`,
        `${about} ${min} to ${max} ${unit}; default ${value}${lowered}.`,
      ).argParser((text) => checked(name, /^\d+$/.test(text) ? Number(text) : text)),
    )
  }
  return command.addHelpText(
    'after',
    `
Environment:
  ${clientTokensVariable}  Client tokens, separated by commas. Valid beside those of the flags and files.

Exit codes: 0 after SIGTERM or SIGINT, 1 if it cannot listen, 2 for a mistake on the command line.`,
  )
}

function checked<T>(name: ConfigName, value: T): T {
  const fault = optionFault(name, value)
  if (fault !== undefined) throw new InvalidArgumentError(`It ${fault}.`)
  return value
}

function collect(value: string, earlier: string[] | undefined): string[] {
  return [...(earlier ?? []), value]
}
