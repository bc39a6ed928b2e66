import type { ErrorReason } from '@ticketing/protocol'
import { TicketError } from './ticket-errors.js'

/**
 * How a session ended:
 *
 * - `lost`: the connection failed, was closed by the peer, or its handshake took too long.
 * - `refused`: an `E` frame (C7); `reason` is its word.
 * - `moved`: an `M` frame (C6).
 * - `protocol`: the peer broke the wire format or its order (C7, C8).
 * - `no-reply`: a reply did not come within its wait and 5 s (C16).
 * - `closed`: this side gave it up, for a cancel or because the broker closed.
 */
export type SessionEndKind = 'lost' | 'refused' | 'moved' | 'protocol' | 'no-reply' | 'closed'

/** Why a session is over. */
export interface SessionEnd {
  readonly kind: SessionEndKind
  /** The word of the `E` frame; only for `refused`. */
  readonly reason?: ErrorReason | (string & {})
  /** For the cause of the errors that callers get. */
  readonly error: TicketError
}

/** @param what - what happened, as a sentence without its end. */
export function connectionLost(what: string, cause?: Error): SessionEnd {
  const detail = cause === undefined ? '' : `: ${causeText(cause)}`
  return { kind: 'lost', error: sessionError('TICKET_NOT_CONNECTED', `${what}${detail}.`, cause) }
}

export function refusedByServer(address: string, reason: string): SessionEnd {
  return { kind: 'refused', reason, error: refusalError(address, reason) }
}

export function movedAway(address: string, leader: string): SessionEnd {
  const text = `The server at ${address} does not lead; it names ${leader} as the leader.`
  return { kind: 'moved', error: sessionError('TICKET_NOT_CONNECTED', text) }
}

export function protocolBroken(address: string, fault: string, cause?: Error): SessionEnd {
  const text = `The peer at ${address} does not follow the Ticketing wire format: ${fault}`
  return { kind: 'protocol', error: sessionError('TICKET_PROTOCOL', text, cause) }
}

export function replyMissing(address: string): SessionEnd {
  const text = `The server at ${address} gave no reply within the wait of a request and 5 s.`
  return { kind: 'no-reply', error: sessionError('TICKET_NOT_CONNECTED', text) }
}

export function closedHere(address: string): SessionEnd {
  return { kind: 'closed', error: sessionError('TICKET_CLOSED', `This side closed its session with ${address}.`) }
}

function refusalError(address: string, reason: string): TicketError {
  switch (reason as ErrorReason) {
    case 'auth_failed':
      return sessionError(
        'TICKET_AUTH_FAILED',
        `The server at ${address} does not accept this broker's token, or the broker has none. Give TicketBroker.connect one of the server's client tokens: { token }.`,
      )
    case 'bad_request':
      return sessionError('TICKET_PROTOCOL', `The server at ${address} could not read what this client sent.`)
    default:
      return sessionError('TICKET_NOT_CONNECTED', `The server at ${address} ended the session: ${reason}.`)
  }
}

/** A session's end says nothing about a request: the error of each request carries its own outcome. */
function sessionError(code: TicketError['code'], message: string, cause?: Error): TicketError {
  return new TicketError(code, 'unknown', message, cause === undefined ? {} : { cause })
}

/** A failed attempt on several addresses of one name is an AggregateError, whose own message is empty. */
function causeText(cause: Error): string {
  const first = cause instanceof AggregateError ? (cause.errors[0] as Error | undefined) : undefined
  return cause.message || first?.message || cause.name
}
