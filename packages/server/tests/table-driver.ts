import type { Effect, LockTableOptions, Reply } from '../src/internal.js'
import { LockTable } from '../src/internal.js'

export const roomyLimits = {
  keysMax: 1000,
  waitersMax: 1000,
  waitersPerKeyMax: 1000,
  outstandingPerSessionMax: 1000,
}

/**
 * A lock table under a clock of its own, with replies as short texts such as `s1: A 1 o1 k`. Tokens start at 1. Grants are
 * handed out at once, as a shell in memory does, unless `handsOut` is false.
 */
export class TableDriver {
  readonly table: LockTable<string>
  handsOut = true
  now = 0

  constructor({
    limits = {},
    lazyExpiry = true,
  }: { limits?: Partial<LockTableOptions['limits']>; lazyExpiry?: boolean } = {}) {
    this.table = new LockTable({ limits: { ...roomyLimits, ...limits }, firstToken: 1n, lazyExpiry })
  }

  acquire(session: string, owner: string, key: string, waitSeconds: number, leaseSeconds = 10): string[] {
    return this.#replies(this.table.acquire(session, { owner, key, waitSeconds, leaseSeconds }, this.now))
  }

  release(session: string, key: string, token: bigint): string[] {
    return this.#replies(this.table.release(session, { key, token }, this.now))
  }

  takeBack(key: string, token: bigint): string[] {
    return this.#replies(this.table.takeBack(key, token, this.now))
  }

  endWaits(): string[] {
    return this.#replies(this.table.endWaits(this.now))
  }

  expire(keysMax = 1000): string[] {
    return this.#replies(this.table.expire(this.now, keysMax))
  }

  /** The keys that were cleared. */
  sweep(keysMax = 1000): string[] {
    return this.table.sweep(this.now, keysMax).map(({ key }) => key)
  }

  /** Lets seconds pass without any event. */
  pass(seconds: number): void {
    this.now += seconds * 1000
  }

  #replies(effects: Effect<string>[]): string[] {
    const replies = effects.filter((effect): effect is Reply<string> => effect.type === 'reply')
    if (this.handsOut) {
      for (const { frame } of replies) {
        if (frame.type === 'granted') this.table.handedOut(frame.key, frame.token, this.now)
      }
    }
    return replies.map(replyText)
  }
}

export function replyText({ session, frame }: Reply<string>): string {
  switch (frame.type) {
    case 'granted':
      return `${session}: A ${frame.token} ${frame.owner} ${frame.key}`
    case 'not-in-time':
      return `${session}: T ${frame.owner} ${frame.key}`
    case 'busy':
      return `${session}: B ${frame.owner} ${frame.key}`
    case 'released':
      return `${session}: R ${frame.token} ${frame.key}`
    case 'not-current':
      return `${session}: N ${frame.token} ${frame.key}`
  }
}

/** An effect as one text, the changes too: `k = 1 for 10 s`, `k = nobody`. */
export function effectText(effect: Effect<string>): string {
  if (effect.type === 'reply') return replyText(effect)
  const { key, holder } = effect
  return holder === undefined ? `${key} = nobody` : `${key} = ${holder.token} for ${holder.leaseSeconds} s`
}
