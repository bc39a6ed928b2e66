import type { ServerFrame } from '@ticketing/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { moment, RecordedAcquire, RecordedRelease, RecordedSession } from './support/recorded-session.js'

/** One step of a random run; numbers choose among what is there. */
type Step =
  | { readonly do: 'acquire'; readonly key: number; readonly lease: number }
  | { readonly do: 'flush' }
  | { readonly do: 'release'; readonly key: number; readonly token: number }
  | { readonly do: 'pass'; readonly milliseconds: number }
  | { readonly do: 'pong' }
  | { readonly do: 'answer'; readonly which: number; readonly how: 'granted' | 'not-in-time' | 'busy' }
  | { readonly do: 'answer-release'; readonly which: number; readonly how: 'released' | 'not-current' }
  | { readonly do: 'stray'; readonly type: 'granted' | 'not-in-time' | 'busy' | 'released' | 'not-current' }
  | { readonly do: 'lose' }

const natural = fc.nat({ max: 1_000 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('acquire' as const), key: natural, lease: fc.integer({ min: 1, max: 9 }) }),
  },
  { weight: 6, arbitrary: fc.constant({ do: 'flush' as const }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('release' as const), key: natural, token: natural }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('pass' as const), milliseconds: fc.integer({ min: 0, max: 700 }) }),
  },
  { weight: 5, arbitrary: fc.constant({ do: 'pong' as const }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      which: natural,
      how: fc.constantFrom('granted' as const, 'not-in-time' as const, 'busy' as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('answer-release' as const),
      which: natural,
      how: fc.constantFrom('released' as const, 'not-current' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('stray' as const),
      type: fc.constantFrom(
        'granted' as const,
        'not-in-time' as const,
        'busy' as const,
        'released' as const,
        'not-current' as const,
      ),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'lose' as const }) },
)

interface ModelAcquire {
  readonly request: RecordedAcquire
  readonly sentAt: number
  handedOver: boolean
  expected: object | undefined
}

/** What a session must do, written as plainly as possible: lists that are searched from the start. */
class Model {
  readonly recorded = RecordedSession.leading()
  now = 0
  hasEnded = false
  acquires: ModelAcquire[] = []
  releases: { readonly release: RecordedRelease; readonly results: string[] }[] = []
  unansweredPings: number[] = []
  provenAt = Number.NEGATIVE_INFINITY
  tokens = 100n
  strays = 0

  get open(): ModelAcquire[] {
    return this.acquires.filter(({ expected }) => expected === undefined)
  }

  run(step: Step): void {
    const { session } = this.recorded
    if (this.hasEnded) return
    switch (step.do) {
      case 'acquire': {
        const request = new RecordedAcquire({ key: `k${step.key % 3}`, lease: step.lease, wait: 255 })
        this.acquires.push({ request, sentAt: this.now, handedOver: false, expected: undefined })
        session.acquire(request, moment(this.now))
        break
      }
      case 'flush':
        for (const acquire of this.acquires) acquire.handedOver = true
        session.handedOver()
        break
      case 'release': {
        const release = new RecordedRelease(`k${step.key % 2}`, BigInt((step.token % 2) + 1))
        this.releases.push({ release, results: [] })
        session.release(release)
        break
      }
      case 'pass':
        this.now += step.milliseconds
        this.tick()
        break
      case 'pong':
        this.pong()
        break
      case 'answer':
        this.answer(step)
        break
      case 'answer-release':
        this.answerRelease(step)
        break
      case 'stray':
        this.stray(step.type)
        break
      case 'lose':
        this.lose({ type: 'error', reason: 'idle' })
        break
    }
  }

  tick(): void {
    if (this.recorded.tickAt > this.now) return
    const before = this.recorded.sent('ping').length
    this.recorded.session.tick(moment(this.now))
    if (this.recorded.sent('ping').length > before) this.unansweredPings.push(this.now)
  }

  pong(): void {
    const pingedAt = this.unansweredPings.shift()
    if (pingedAt === undefined) {
      this.lose({ type: 'pong' })
    } else {
      this.provenAt = pingedAt
      this.recorded.session.receive({ type: 'pong' })
    }
  }

  answer({ which, how }: Extract<Step, { do: 'answer' }>): void {
    const candidates = this.open
    const chosen = candidates[which % candidates.length]
    if (chosen === undefined) return
    const { owner, key } = chosen.request
    const token = this.tokens++
    const provenAt = moment(Math.max(chosen.sentAt, this.provenAt))
    chosen.expected = how === 'granted' ? { type: how, token, provenAt } : { type: how }
    this.recorded.session.receive(how === 'granted' ? { type: how, token, owner, key } : { type: how, owner, key })
  }

  answerRelease({ which, how }: Extract<Step, { do: 'answer-release' }>): void {
    const candidates = this.releases.filter(({ results }) => results.length === 0)
    const chosen = candidates[which % candidates.length]
    if (chosen === undefined) return
    const { key, token } = chosen.release
    for (const { release, results } of candidates) {
      if (release.key === key && release.token === token) results.push(how)
    }
    this.recorded.session.receive({ type: how, token, key })
  }

  stray(type: Extract<Step, { do: 'stray' }>['type']): void {
    const key = 'nobody-asked'
    const owner = 'nobody'.padEnd(16)
    if (type === 'granted') this.strays++
    if (type === 'granted') this.lose({ type, token: 1n, owner, key })
    else if (type === 'released' || type === 'not-current') this.lose({ type, token: 1n, key })
    else this.lose({ type, owner, key })
  }

  lose(frame: ServerFrame): void {
    this.hasEnded = true
    for (const acquire of this.open) acquire.expected = { type: 'lost', maySent: acquire.handedOver }
    for (const { results } of this.releases) if (results.length === 0) results.push('lost')
    this.recorded.session.receive(frame)
  }

  check(): void {
    for (const { request, expected } of this.acquires) {
      if (expected === undefined) expect(request.notes).toEqual([])
      else expect(request.notes).toMatchObject([expected])
    }
    for (const { release, results } of this.releases) expect(release.notes).toEqual(results)
    expect(this.recorded.ends).toHaveLength(this.hasEnded ? 1 : 0)
    expect(this.recorded.strayGrants).toHaveLength(this.strays)
    const owners = this.recorded.sent('acquire').map((frame) => (frame.type === 'acquire' ? frame.owner : ''))
    expect(owners).toEqual(this.acquires.map(({ request }) => request.owner))
  }
}

const seed = Number(process.env.TICKETING_SEED ?? Date.now() % 2 ** 31)

test(`C1, C2, C3, C8, C9: random replies, losses and times against a model (TICKETING_SEED=${seed})`, () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
      const model = new Model()
      for (const step of steps) {
        model.run(step)
        model.check()
      }
    }),
    { seed, numRuns: 300 },
  )
})
