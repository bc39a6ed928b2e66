import { type Address, formatAddress, parseAddress } from '@ticketing/protocol'
import { checkOptionNames, invalidArgument, parseDuration, shown } from './acquire-options.js'
import type { Duration } from './broker.js'
import { connectSecondsDefault, connectSecondsMax } from './limits.js'

/** How {@link TicketBroker.connect} connects. */
export interface BrokerOptions {
  /** The shared secret: one of the server's client tokens (C14). By default the empty one, for a server without tokens. */
  readonly token?: string | undefined
  /**
   * How long an acquire may look for a server that leads before it ends unsent (C15), 0–3600 s, counted before its wait.
   * By default 5 s. Fractions count as they are.
   */
  readonly connectSeconds?: Duration | undefined
}

/** What a broker is made of, checked. */
export interface BrokerSettings {
  readonly addresses: readonly Address[]
  readonly secret: string
  readonly connectSeconds: number
}

/**
 * Checks what {@link TicketBroker.connect} is given. The caller's objects are not kept.
 *
 * @throws {TicketError} `TICKET_INVALID_ARGUMENT`; a secret never appears in its message.
 */
export function checkBroker(addresses: unknown, options: unknown = {}): BrokerSettings {
  checkOptionNames('TicketBroker.connect', options, ['token', 'connectSeconds'])
  const { token = '', connectSeconds = connectSecondsDefault } = options as BrokerOptions
  if (typeof token !== 'string') throw invalidArgument(`token must be a string, got ${typeof token}.`)
  return {
    addresses: readAddresses(addresses),
    secret: token,
    connectSeconds: parseDuration('connectSeconds', connectSeconds, { min: 0, max: connectSecondsMax }),
  }
}

/** An address given twice counts once. */
function readAddresses(given: unknown): Address[] {
  const texts: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (texts.length === 0) throw invalidArgument('addresses must hold at least one host:port, got an empty array.')
  const byText = new Map<string, Address>()
  for (const text of texts) {
    const address = typeof text === 'string' ? parseAddress(text) : undefined
    if (address === undefined || address.port === 0) {
      throw invalidArgument(
        `An address must be host:port with a port from 1 to 65535 and an IPv6 host in brackets, got ${shown(text)}.`,
      )
    }
    byText.set(formatAddress(address), address)
  }
  return [...byText.values()]
}
