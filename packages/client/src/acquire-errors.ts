import type { AcquireSettings } from './acquire-options.js'
import type { SessionEnd } from './session-end.js'
import { TicketError, type TicketErrorCode } from './ticket-errors.js'

/** `T`: definitive (C4). */
export function notInTime({ key, waitSeconds }: AcquireSettings): TicketError {
  const text = `The key ${named(key)} did not become free within the wait of ${waitSeconds} s. The request is over and nothing is held. Acquire again to queue anew.`
  return new TicketError('TICKET_TIMEOUT', 'not-executed', text)
}

/** `B`: definitive and at once (C5). */
export function refusedAsBusy({ key }: AcquireSettings): TicketError {
  const text = `The server refused the acquire of ${named(key)} for lack of capacity; it was not queued. Wait a while, then acquire again.`
  return new TicketError('TICKET_BUSY', 'not-executed', text)
}

/** C3 */
export function answerLost({ key, leaseSeconds }: AcquireSettings, cause: unknown): TicketError {
  const text = `The acquire of ${named(key)} was sent and its answer is lost${because(cause)}. It may have been granted, and the key can then stay held for its lease of ${leaseSeconds} s. Do not start the work; it is never repeated for you. Acquire again if the work is still wanted.`
  return new TicketError('TICKET_INDETERMINATE', 'unknown', text, { cause })
}

/** The connect budget is over, and the request was never sent (C15). */
export function neverConnected(
  { key }: AcquireSettings,
  connectSeconds: number,
  lastFailure: SessionEnd | undefined,
): TicketError {
  const request = `The acquire of ${named(key)} was never sent`
  return notReady(request, `within ${connectSeconds} s (connectSeconds)`, lastFailure)
}

/** There is no leading session: after which time, what that means, and why. */
export function notReady(consequence: string, after: string, lastFailure: SessionEnd | undefined): TicketError {
  const cause = lastFailure?.error
  const code: TicketErrorCode = cause?.code === 'TICKET_AUTH_FAILED' ? 'TICKET_AUTH_FAILED' : 'TICKET_NOT_CONNECTED'
  const why = cause === undefined ? '. No server has answered yet.' : `. The last failure: ${cause.message}`
  const text = `${consequence}: no server that leads was ready ${after}${why} The broker keeps trying to connect.`
  return new TicketError(code, 'not-executed', text, { cause })
}

/** C10 */
export function cancelled({ key, leaseSeconds, signal }: AcquireSettings, maySent: boolean): TicketError {
  const text = maySent
    ? `The acquire of ${named(key)} was cancelled by its signal after it was sent. It may have been granted; a grant that still arrives is given back, else the key can stay held for its lease of ${leaseSeconds} s.`
    : `The acquire of ${named(key)} was cancelled by its signal; it was never sent.`
  return new TicketError('TICKET_CANCELLED', maySent ? 'unknown' : 'not-executed', text, { cause: signal?.reason })
}

/** C9: the grant was given back. */
export function leaseTooShort(settings: AcquireSettings, remainingSeconds: number): TicketError {
  const { key, leaseSeconds, minWorkSeconds } = settings
  const left = `${remainingSeconds.toFixed(3)} s of the lease of ${leaseSeconds} s remained for certain, below the minWork of ${minWorkSeconds} s`
  const advice =
    minWorkSeconds === leaseSeconds
      ? 'A minWork equal to the lease can hardly ever be met, since some of the lease is always gone when the grant arrives: ask for a longer lease or a smaller minWork.'
      : 'Ask for a longer lease or a smaller minWork, or find what delays this process or its network.'
  const text = `The key ${named(key)} was granted, but only ${left}. The ticket is being given back, and the work must not start. ${advice}`
  return new TicketError('TICKET_LEASE_TOO_SHORT', 'not-executed', text)
}

/** The broker closed while the acquire was pending. */
export function closedWhilePending({ key, leaseSeconds }: AcquireSettings, maySent: boolean): TicketError {
  const text = maySent
    ? `The broker was closed while the acquire of ${named(key)} waited for its answer. It may have been granted, and the key can then stay held for its lease of ${leaseSeconds} s. Do not start the work.`
    : `The broker was closed before the acquire of ${named(key)} was sent; it was never sent.`
  return new TicketError('TICKET_CLOSED', maySent ? 'unknown' : 'not-executed', text)
}

/** The broker was closed before the call. */
export function brokerClosed(call: string): TicketError {
  const text = `The broker is closed: ${call} did nothing and sent nothing. Connect a new broker.`
  return new TicketError('TICKET_CLOSED', 'not-executed', text)
}

/** How a key stands in a message. */
export function named(key: string): string {
  return JSON.stringify(key)
}

/** The cause as an inset of a sentence, without its full stop. */
function because(cause: unknown): string {
  return cause instanceof Error ? ` (${cause.message.replace(/\.$/, '')})` : ''
}
