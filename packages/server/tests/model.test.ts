import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Change, type Effect, LockTable, type Reply } from '../src/internal.js'
import { NaiveModel } from './naive-model.js'
import { runs } from './random-runs.js'
import { replyText } from './table-driver.js'

const limits = { keysMax: 4, waitersMax: 6, waitersPerKeyMax: 3, outstandingPerSessionMax: 3 }

const session = fc.constantFrom('s1', 's2', 's3')
const key = fc.constantFrom('k1', 'k2', 'k3', 'k4', 'k5')
const pick = fc.nat({ max: 1000 })
const command = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('acquire' as const),
      session,
      key,
      wait: fc.integer({ min: 0, max: 4 }),
      lease: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('release' as const), session, key, stale: fc.boolean(), pick }),
  },
  // Times of half seconds meet often, and so do waits and leases that end at one instant.
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('pass' as const), halves: fc.integer({ min: 0, max: 5 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('end waits' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('expire' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('sweep' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('session ends' as const), session }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('hand out' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('take back' as const), pick }) },
)
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never

/** Drives the table and the model with the same events, and compares all that can be seen of them. */
class Comparison {
  readonly #table: LockTable<string>
  readonly #model: NaiveModel
  readonly #inMemory: boolean
  #now = 0
  #owners = 0
  #lastToken = 0n
  /** The holders as a store would know them from the changes alone. */
  readonly #stored = new Map<string, bigint>()
  readonly #issued: { key: string; token: bigint }[] = []
  #undelivered: { key: string; token: bigint }[] = []

  constructor(lazyExpiry: boolean, inMemory: boolean) {
    this.#table = new LockTable({ limits, firstToken: 1n, lazyExpiry })
    this.#model = new NaiveModel(limits, lazyExpiry)
    this.#inMemory = inMemory
  }

  run(step: Command): void {
    const { kind } = step
    const [table, model, now] = [this.#table, this.#model, this.#now]
    if (kind === 'acquire') {
      const owner = `o${++this.#owners}`
      const request = { owner, key: step.key, waitSeconds: step.wait, leaseSeconds: step.lease }
      const predicted = model.acquire(step.session, owner, step.key, step.wait, step.lease, now)
      this.#compare(table.acquire(step.session, request, now), predicted)
    } else if (kind === 'release') {
      const token = this.#tokenFor(step)
      const predicted = model.release(step.session, step.key, token, now)
      this.#compare(table.release(step.session, { key: step.key, token }, now), predicted)
    } else if (kind === 'pass') {
      this.#now += step.halves * 500
    } else if (kind === 'end waits') {
      this.#compare(table.endWaits(now), model.endWaits(now))
    } else if (kind === 'expire') {
      this.#compare(table.expire(now, 1000), model.expire(now))
    } else if (kind === 'sweep') {
      const changes = table.sweep(now, 1000)
      expect(changes.map((change) => change.key).sort()).toEqual(model.sweep(now).sort())
      for (const change of changes) this.#store(change)
    } else if (kind === 'session ends') {
      table.sessionEnded(step.session)
      model.sessionEnded(step.session)
    } else {
      this.#deliver(step)
    }
    this.#compareState()
  }

  #deliver(step: { kind: 'hand out' | 'take back'; pick: number }): void {
    const grant = this.#undelivered.splice(step.pick % Math.max(1, this.#undelivered.length), 1)[0]
    if (grant === undefined) return
    const { key: name, token } = grant
    if (step.kind === 'take back') {
      this.#compare(this.#table.takeBack(name, token, this.#now), this.#model.takeBack(name, token, this.#now))
    } else {
      this.#handOut(name, token)
    }
  }

  #handOut(name: string, token: bigint): void {
    this.#table.handedOut(name, token, this.#now)
    this.#model.handedOut(name, token, this.#now)
  }

  #tokenFor(step: { key: string; stale: boolean; pick: number }): bigint {
    const current = this.#model.keys.get(step.key)?.token
    if (!step.stale && current !== undefined) return current
    return this.#issued[step.pick % Math.max(1, this.#issued.length)]?.token ?? 99n
  }

  #compare(effects: readonly Effect<string>[], predicted: readonly string[]): void {
    const replies = effects.filter((effect): effect is Reply<string> => effect.type === 'reply')
    const withoutTokens = replies.map((reply) => {
      const { frame } = reply
      return frame.type === 'granted' ? `${reply.session}: A ${frame.owner} ${frame.key}` : replyText(reply)
    })
    expect(withoutTokens.sort()).toEqual([...predicted].sort())
    for (const effect of effects) {
      if (effect.type === 'change') this.#store(effect)
      else this.#checkRestsOnWhatIsStored(effect)
    }
    for (const { frame } of replies) {
      if (frame.type !== 'granted') continue
      this.#model.learnToken(frame.key, frame.token)
      this.#issued.push(frame)
      if (this.#inMemory) this.#handOut(frame.key, frame.token)
      else this.#undelivered.push(frame)
    }
  }

  #store({ key: name, holder }: Change): void {
    if (holder === undefined) {
      this.#stored.delete(name)
    } else {
      expect(holder.token, 'S10: the next token').toBe(this.#lastToken + 1n)
      this.#lastToken = holder.token
      this.#stored.set(name, holder.token)
    }
  }

  /** S13: what a reply says is true of the changes before it. */
  #checkRestsOnWhatIsStored({ frame }: Reply<string>): void {
    const holder = this.#stored.get(frame.key)
    if (frame.type === 'granted') expect(holder).toBe(frame.token)
    if (frame.type === 'released' || frame.type === 'not-current') expect(holder).not.toBe(frame.token)
    if (frame.type === 'not-in-time') expect(holder).toBeDefined()
  }

  #compareState(): void {
    const [table, model] = [this.#table, this.#model]
    expect([table.keyCount, table.waiterCount]).toEqual([model.keys.size, model.waiterCount])
    expect([table.nextWaitEnd, table.nextExpiry]).toEqual([model.nextWaitEnd, model.nextExpiry])
    expect(new Map([...model.keys].map(([name, state]) => [name, state.token]))).toEqual(this.#stored)
  }
}

it.each([
  [true, true],
  [true, false],
  [false, true],
  [false, false],
])('S1–S4, S6–S10, S12, S13: like the naive model (lazy expiry %s, handed out at once %s)', (lazyExpiry, inMemory) => {
  fc.assert(
    fc.property(fc.array(command, { minLength: 100, maxLength: 400, size: 'max' }), (commands) => {
      const comparison = new Comparison(lazyExpiry, inMemory)
      for (const step of commands) comparison.run(step)
    }),
    runs(120),
  )
})
