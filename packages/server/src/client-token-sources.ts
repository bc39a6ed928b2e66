import { readFileSync } from 'node:fs'

/** The environment variable that may hold client tokens, separated by commas. */
export const clientTokensVariable = 'TICKETING_CLIENT_TOKENS'

/** Where client tokens may come from beside the repeated flag. */
export interface ClientTokenSources {
  readonly flags: readonly string[]
  readonly files: readonly string[]
  readonly variable: string | undefined
}

/**
 * Gathers the client tokens of all sources; all of them are valid.
 *
 * @throws {Error} where a file cannot be read, or a source that was given holds no token: a server that was meant to
 * have secrets must not start without.
 */
export function gatherClientTokens(sources: ClientTokenSources): string[] {
  const tokens = [...sources.flags]
  for (const file of sources.files) {
    tokens.push(...tokensIn(readTokenFile(file), /\r?\n/, `the client token file ${JSON.stringify(file)}`))
  }
  if (sources.variable !== undefined) tokens.push(...tokensIn(sources.variable, /,/, clientTokensVariable))
  return [...new Set(tokens)]
}

function tokensIn(text: string, separator: RegExp, source: string): string[] {
  const tokens = text.split(separator).map((token) => token.trim())
  const filled = tokens.filter((token) => token !== '')
  if (filled.length === 0) throw new Error(`${source} holds no token; give one, or do without it`)
  return filled
}

function readTokenFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new Error(`the client token file ${JSON.stringify(file)} cannot be read: ${(cause as Error).message}`, {
      cause,
    })
  }
}
