import { addressBytesMax } from './limits.js'

const hostAndPort = /^(?:\[([0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]|([^\s:[\]]+)):(\d{1,5})$/

/** The two parts of `host:port`; the host of `[::1]:5225` is `::1`. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** Reads `host:port`, or answers `undefined` where the text is no address: at most 259 printable ASCII bytes, port 0–65535. */
export function parseAddress(text: string): Address | undefined {
  if (text.length > addressBytesMax || !/^[\x21-\x7e]+$/.test(text)) return undefined
  const match = hostAndPort.exec(text)
  if (match === null) return undefined
  const port = Number(match[3])
  const host = match[1] ?? match[2]
  return host === undefined || port > 65_535 ? undefined : { host, port }
}

/** Writes an address as the wire does: an IPv6 host in brackets. */
export function formatAddress(address: Address): string {
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`
}
