import type { BusyFrame, GrantedFrame, NotCurrentFrame, NotInTimeFrame, ReleasedFrame } from '@ticketing/protocol'

/** Who holds a key, as far as it has to outlive a process. The deadline does not: a restart gives the full lease again. */
export interface Holder {
  readonly token: bigint
  readonly leaseSeconds: number
}

/** The new state of one key: its holder, or nobody. A later change of the same key replaces an earlier one. */
export interface Change {
  readonly type: 'change'
  readonly key: string
  readonly holder: Holder | undefined
}

export type ReplyFrame = GrantedFrame | NotInTimeFrame | BusyFrame | ReleasedFrame | NotCurrentFrame

/** A frame that is owed to a session. */
export interface Reply<S> {
  readonly type: 'reply'
  readonly session: S
  readonly frame: ReplyFrame
}

/**
 * What a decision of the lock table brings about. Effects are totally ordered, within one answer of the table and from
 * one answer to the next, and **a reply rests on every change before it** (S13).
 *
 * So a shell that stores changes keeps one list: it appends what the table answers; a commit takes the changes up to some
 * point, folded to the last one of each key; after it, the replies up to that point leave in order. The greatest token
 * among the changes is the last token to store (S10). A busy reply rests on nothing stored and may leave at once (K2).
 */
export type Effect<S> = Change | Reply<S>
