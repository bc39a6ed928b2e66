import { expect, it } from 'vitest'
import { type Effect, LockTable } from '../src/internal.js'
import { effectText, roomyLimits } from './table-driver.js'

/** A shell that stores changes before their replies leave, as a durable or clustered one does: one list, one commit. */
class HoldingShell {
  readonly table = new LockTable<string>({ limits: roomyLimits, firstToken: 1n, lazyExpiry: false })
  readonly stored = new Map<string, bigint>()
  readonly sent: string[] = []
  readonly ended = new Set<string>()
  #waiting: Effect<string>[] = []

  decide(effects: readonly Effect<string>[]): void {
    this.#waiting.push(...effects)
  }

  /** Commits what has been decided so far; its replies leave afterwards, at `now`. */
  commit(now: number): void {
    const committed = this.#waiting
    this.#waiting = []
    for (const effect of committed) {
      if (effect.type !== 'change') continue
      if (effect.holder === undefined) this.stored.delete(effect.key)
      else this.stored.set(effect.key, effect.holder.token)
    }
    for (const effect of committed) {
      if (effect.type !== 'reply') continue
      const { session, frame } = effect
      const delivered = !this.ended.has(session)
      if (delivered) this.sent.push(effectText(effect))
      if (frame.type !== 'granted') continue
      if (delivered) this.table.handedOut(frame.key, frame.token, now)
      else this.decide(this.table.takeBack(frame.key, frame.token, now))
    }
  }
}

const request = (owner: string, waitSeconds = 60) => ({ owner, key: 'k', waitSeconds, leaseSeconds: 10 })

it('S13: an N after a release is behind the change of that release', () => {
  const { table } = new HoldingShell()
  table.acquire('a', request('o1'), 0)
  const effects = [...table.release('a', { key: 'k', token: 1n }, 1), ...table.release('b', { key: 'k', token: 1n }, 1)]
  expect(effects.map(effectText)).toEqual(['k = nobody', 'a: R 1 k', 'b: N 1 k'])
})

it('S13: a release and the grant that follows it are one change, before both replies', () => {
  const { table } = new HoldingShell()
  table.acquire('a', request('o1'), 0)
  table.acquire('b', request('o2'), 0)
  const effects = table.release('a', { key: 'k', token: 1n }, 1)
  expect(effects.map(effectText)).toEqual(['k = 2 for 10 s', 'a: R 1 k', 'b: A 2 o2 k'])
})

it('S13: a T for an overdue waiter, an expiry and its grant come in the order of the decisions', () => {
  const { table } = new HoldingShell()
  table.acquire('a', request('o1'), 0)
  table.handedOut('k', 1n, 0)
  table.acquire('b', request('o2', 10), 0)
  table.acquire('c', request('o3'), 0)
  expect(table.expire(10_000, 1000).map(effectText)).toEqual(['b: T o2 k', 'k = 2 for 10 s', 'c: A 2 o3 k'])
})

it('S9, S11: a lease starts after the commit, however long that takes', () => {
  const shell = new HoldingShell()
  shell.decide(shell.table.acquire('a', request('o1'), 0))
  shell.decide(shell.table.acquire('b', request('o2'), 1))
  expect(shell.table.nextExpiry).toBe(Number.POSITIVE_INFINITY)
  expect(shell.sent).toEqual([])
  shell.commit(50_000)
  expect(shell.stored.get('k')).toBe(1n)
  expect(shell.sent).toEqual(['a: A 1 o1 k'])
  expect(shell.table.nextExpiry).toBe(60_000)
})

it('S8: a session that ended before the commit of its grant: the key passes on', () => {
  const shell = new HoldingShell()
  shell.decide(shell.table.acquire('a', request('o1'), 0))
  shell.decide(shell.table.acquire('b', request('o2'), 0))
  shell.ended.add('a')
  shell.table.sessionEnded('a')
  shell.commit(1)
  expect(shell.sent).toEqual([])
  shell.commit(2)
  expect(shell.sent).toEqual(['b: A 2 o2 k'])
  expect(shell.stored.get('k')).toBe(2n)
})
