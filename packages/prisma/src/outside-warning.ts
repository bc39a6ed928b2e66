import { type FenceLogger, sectionInForce } from '@ticketing/core'

const message =
  'A query inside a section went through the client itself, not through the section’s own: it runs outside the ' +
  'transaction and is not fenced. Use the client that the section hands to its work.'

/**
 * Says, once for each kind of query, that it ran outside the section around it. Only a warning: reading reference data or
 * writing an audit entry there may be meant.
 */
export function outsideWarning(pool: object, logger: FenceLogger | undefined) {
  const seen = new Set<string>()
  return (model: string | undefined, operation: string): void => {
    if (sectionInForce(pool) === undefined) return
    const name = model === undefined ? operation : `${model}.${operation}`
    if (seen.has(name)) return
    seen.add(name)
    if (logger === undefined) process.emitWarning(`${name}: ${message}`, 'TicketingWarning')
    else logger.warn({ event: 'outside-section', operation: name }, message)
  }
}
