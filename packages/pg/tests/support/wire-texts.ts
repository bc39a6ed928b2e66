import type { WireLog } from './wire-log.js'

/** The texts that were sent, in order; a prepared statement shows its text only when it is parsed. */
export function textsOf(wire: WireLog): string[] {
  return wire.messages.flatMap(({ text }) => (text === undefined ? [] : [text]))
}
