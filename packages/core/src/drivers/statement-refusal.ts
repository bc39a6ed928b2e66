import { leaseExpired, transactionEnded } from '../commit-outcome.js'
import { FenceError } from '../fence-errors.js'

/** What a statement of the work finds out about its section at its turn. */
export interface SectionState {
  readonly handleEnded: boolean
  readonly transactionEnded: boolean
  readonly leaseOver: boolean
}

/** The refusal that a statement of the work meets, if any. */
export function statementRefusal(state: SectionState): FenceError | undefined {
  if (state.handleEnded) return handleEnded()
  if (state.transactionEnded) return transactionEnded()
  return state.leaseOver ? leaseExpired(undefined) : undefined
}

/** A statement came after the end of its section (F14). */
export function handleEnded(): FenceError {
  return new FenceError(
    'FENCE_HANDLE_ENDED',
    'not-executed',
    'A statement was sent through the transaction of a section that has ended. It was not executed. Await all work ' +
      'inside the section; what does not belong to it needs a connection of its own.',
  )
}
