import { invalidArgument } from '../fence-errors.js'
import type { CallerTransaction } from '../transaction-host.js'

/**
 * What the status of the last reply says about a transaction of the caller.
 *
 * @param status - `I`, `T` or `E`; nothing where the driver does not show it.
 * @throws {FenceError} `FENCE_INVALID_ARGUMENT` where no transaction is open, or an aborted one.
 */
export function adoptedState(status: string | null | undefined): CallerTransaction['state'] {
  if (status === 'I') {
    throw invalidArgument('transaction', 'no transaction is open on this connection; await BEGIN before the claim')
  }
  if (status === 'E') throw invalidArgument('transaction', 'has been aborted by an earlier statement; roll it back')
  return status === 'T' ? 'open' : 'unsure'
}
