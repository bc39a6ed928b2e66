import type { ClientFrame, ServerFrame } from '@ticketing/protocol'
import { describe, expect, test } from 'vitest'
import { moment, RecordedAcquire, RecordedRelease, RecordedSession } from './support/recorded-session.js'

const pong: ServerFrame = { type: 'pong' }

/** A leading session with these acquires sent at the moment 0 and handed over. */
function sessionWith(...requests: RecordedAcquire[]): RecordedSession {
  const recorded = RecordedSession.leading()
  for (const request of requests) recorded.session.acquire(request, moment(0))
  recorded.session.handedOver()
  return recorded
}

function granted({ owner, key }: RecordedAcquire, token: bigint): ServerFrame {
  return { type: 'granted', token, owner, key }
}

describe('matching', () => {
  test('C1: replies find their acquires in any order, also for one key', () => {
    const [a, b, c] = [new RecordedAcquire(), new RecordedAcquire(), new RecordedAcquire()]
    const { session, ends } = sessionWith(a, b, c)
    session.receive({ type: 'busy', owner: c.owner, key: 'k' })
    session.receive(granted(b, 7n))
    session.receive({ type: 'not-in-time', owner: a.owner, key: 'k' })
    expect(a.notes).toEqual([{ type: 'not-in-time' }])
    expect(b.notes).toMatchObject([{ type: 'granted', token: 7n }])
    expect(c.notes).toEqual([{ type: 'busy' }])
    expect(ends).toEqual([])
  })

  test.each<[string, (request: RecordedAcquire) => ServerFrame]>([
    ['A with another key', ({ owner }) => ({ type: 'granted', token: 9n, owner, key: 'other' })],
    ['A with another owner', ({ key }) => ({ type: 'granted', token: 9n, owner: 'x'.repeat(16), key })],
    ['T with another key', ({ owner }) => ({ type: 'not-in-time', owner, key: 'other' })],
    ['B with another owner', ({ key }) => ({ type: 'busy', owner: 'x'.repeat(16), key })],
    ['R for an acquire', ({ key }) => ({ type: 'released', token: 1n, key })],
    ['N for an acquire', ({ key }) => ({ type: 'not-current', token: 1n, key })],
    ['a pong without a ping', () => pong],
  ])('C1, C8: %s is a mismatch and ends the session', (_, frame) => {
    const request = new RecordedAcquire()
    const { session, ends } = sessionWith(request)
    expect(session.receive(frame(request))).toBe(false)
    expect(ends).toMatchObject([{ kind: 'protocol', error: { code: 'TICKET_PROTOCOL' } }])
    expect(request.notes).toMatchObject([{ type: 'lost', maySent: true, end: { kind: 'protocol' } }])
  })

  test('C1: releases match by token and key together', () => {
    const { session, ends } = sessionWith()
    const [a, b] = [new RecordedRelease('a', 5n), new RecordedRelease('b', 5n)]
    session.release(a)
    session.release(b)
    session.receive({ type: 'not-current', token: 5n, key: 'b' })
    session.receive({ type: 'released', token: 5n, key: 'a' })
    expect([a.notes, b.notes]).toEqual([['released'], ['not-current']])
    expect(ends).toEqual([])
    expect(session.receive({ type: 'released', token: 5n, key: 'a' })).toBe(false)
  })

  test('C2: an acquire is pending before its frame goes out', () => {
    const request = new RecordedAcquire()
    const recorded = RecordedSession.leading()
    const answerAtOnce = (frame: ClientFrame) => {
      if (frame.type === 'acquire') recorded.session.receive(granted(request, 3n))
      return 0
    }
    recorded.frames.push = answerAtOnce
    recorded.session.acquire(request, moment(0))
    expect(request.notes).toMatchObject([{ type: 'granted', token: 3n }])
    expect(recorded.ends).toEqual([])
  })

  test('C2: releases of one grant share one frame and its result', () => {
    const { session, frames } = sessionWith()
    const [a, b] = [new RecordedRelease('k', 5n), new RecordedRelease('k', 5n)]
    session.release(a)
    session.release(b)
    expect(frames).toEqual([{ type: 'release', token: 5n, key: 'k' }])
    session.receive({ type: 'released', token: 5n, key: 'k' })
    expect([a.notes, b.notes]).toEqual([['released'], ['released']])
  })

  test('C8: a grant without a request ends the session, and its exact token goes to the release lane', () => {
    const request = new RecordedAcquire()
    const { session, ends, strayGrants } = sessionWith(request)
    session.receive({ type: 'granted', token: 77n, owner: 'o'.repeat(16), key: 'stray' })
    expect(ends).toMatchObject([{ kind: 'protocol' }])
    expect(strayGrants).toEqual([{ key: 'stray', token: 77n }])
    expect(request.notes).toMatchObject([{ type: 'lost', maySent: true }])
  })

  test('C8: only an A goes to the release lane', () => {
    const { session, strayGrants } = sessionWith()
    session.receive({ type: 'released', token: 77n, key: 'stray' })
    expect(strayGrants).toEqual([])
  })
})

describe('loss', () => {
  test('C3: what was handed over is lost as possibly sent, the rest as never sent, all at once', () => {
    const [sent, gathered] = [new RecordedAcquire(), new RecordedAcquire()]
    const { session } = sessionWith(sent)
    session.acquire(gathered, moment(1))
    session.receive({ type: 'error', reason: 'shutting_down' })
    expect(sent.notes).toMatchObject([
      { type: 'lost', maySent: true, end: { kind: 'refused', reason: 'shutting_down' } },
    ])
    expect(gathered.notes).toMatchObject([{ type: 'lost', maySent: false }])
  })

  test('C3: each request hears of its loss once, and releases too', () => {
    const request = new RecordedAcquire()
    const release = new RecordedRelease('k', 5n)
    const { session, ends } = sessionWith(request)
    session.release(release)
    session.receive({ type: 'error', reason: 'idle' })
    session.receive({ type: 'error', reason: 'idle' })
    session.receive(granted(request, 1n))
    expect(request.notes).toHaveLength(1)
    expect(release.notes).toEqual(['lost'])
    expect(ends).toHaveLength(1)
  })

  test.each([
    ['auth_failed', 'TICKET_AUTH_FAILED'],
    ['bad_request', 'TICKET_PROTOCOL'],
    ['no_leader', 'TICKET_NOT_CONNECTED'],
    ['not_active', 'TICKET_NOT_CONNECTED'],
    ['too_many_sessions', 'TICKET_NOT_CONNECTED'],
    ['shutting_down', 'TICKET_NOT_CONNECTED'],
    ['idle', 'TICKET_NOT_CONNECTED'],
    ['a_word_of_a_newer_server', 'TICKET_NOT_CONNECTED'],
  ])('C7: E %s ends the session as %s', (reason, code) => {
    const request = new RecordedAcquire()
    const { session, ends } = sessionWith(request)
    expect(session.receive({ type: 'error', reason })).toBe(false)
    expect(ends).toMatchObject([{ kind: 'refused', reason, error: { code } }])
    expect(request.notes).toMatchObject([{ type: 'lost', maySent: true }])
  })

  test('C6: M settles nothing and ends the session', () => {
    const request = new RecordedAcquire()
    const { session, ends } = sessionWith(request)
    session.receive({ type: 'moved', address: '10.0.0.1:5225' })
    expect(ends).toMatchObject([{ kind: 'moved' }])
    expect(request.notes).toMatchObject([{ type: 'lost', maySent: true }])
  })

  test('C6: the role byte decides whether acquires may go here, and is no reply', () => {
    const request = new RecordedAcquire()
    const recorded = new RecordedSession()
    const { session } = recorded
    expect([session.isOpen, session.leads]).toEqual([false, false])
    session.receive({ type: 'leader', leads: false, address: '10.0.0.1:5225' })
    expect([session.isOpen, session.leads]).toEqual([true, false])
    expect(() => session.acquire(request, moment(0))).toThrow('does not lead')
    expect(recorded.frames).toEqual([])
    session.receive({ type: 'leader', leads: true, address: undefined })
    session.acquire(request, moment(0))
    session.receive({ type: 'leader', leads: false, address: undefined })
    expect([session.isOpen, session.leads]).toEqual([true, false])
    expect(request.notes).toEqual([])
    expect(session.receive(granted(request, 4n))).toBe(true)
    expect(request.notes).toMatchObject([{ type: 'granted', token: 4n }])
  })
})

describe('proven grant times', () => {
  test('C9: without a pong the lease counts from the send time of the acquire', () => {
    const request = new RecordedAcquire()
    const recorded = RecordedSession.leading()
    recorded.session.acquire(request, moment(100))
    recorded.session.tick(moment(1100))
    expect(recorded.sent('ping')).toHaveLength(1)
    recorded.session.receive(granted(request, 1n))
    expect(request.notes).toMatchObject([{ type: 'granted', provenAt: moment(100) }])
  })

  test('C9: it counts from the latest ping whose pong came before the A, matched by count', () => {
    const [first, second] = [new RecordedAcquire(), new RecordedAcquire({ key: 'other' })]
    const recorded = sessionWith(first, second)
    const { session } = recorded
    for (const at of [1000, 2000, 3000]) session.tick(moment(at))
    expect(recorded.sent('ping')).toHaveLength(3)
    session.receive(pong)
    session.receive(pong)
    session.receive(granted(first, 1n))
    session.receive(pong)
    session.receive(granted(second, 2n))
    expect(first.notes).toMatchObject([{ type: 'granted', provenAt: moment(2000) }])
    expect(second.notes).toMatchObject([{ type: 'granted', provenAt: moment(3000) }])
  })

  test('C9: a pong of a ping that is older than the acquire proves less than the send time', () => {
    const request = new RecordedAcquire()
    const { session } = RecordedSession.leading()
    session.tick(moment(2000))
    session.acquire(request, moment(2500))
    session.receive(pong)
    session.receive(granted(request, 1n))
    expect(request.notes).toMatchObject([{ type: 'granted', provenAt: moment(2500) }])
  })

  test.each([
    [1, 200],
    [3, 600],
    [5, 1000],
    [250, 1000],
  ])('C9: while a lease of %i s is waited for, pings go every %i ms', (lease, interval) => {
    const recorded = sessionWith(new RecordedAcquire({ lease, wait: 100 }))
    const at: number[] = []
    for (let i = 0; i < 5; i++) {
      at.push(recorded.tickAt)
      recorded.session.tick(moment(recorded.tickAt))
      recorded.session.receive(pong)
    }
    expect(at).toEqual([1, 2, 3, 4, 5].map((n) => n * interval))
    expect(recorded.sent('ping')).toHaveLength(5)
  })

  test('C9: the shortest lease that is waited for sets the interval, until it is answered', () => {
    const [long, brief] = [new RecordedAcquire({ wait: 100 }), new RecordedAcquire({ lease: 1, wait: 100 })]
    const recorded = sessionWith(long)
    recorded.session.acquire(brief, moment(500))
    expect(recorded.tickAt).toBe(700)
    recorded.session.tick(moment(700))
    expect(recorded.tickAt).toBe(900)
    recorded.session.receive(granted(brief, 1n))
    recorded.session.tick(moment(900))
    expect(recorded.tickAt).toBe(1900)
  })

  test('C9: an idle session pings too, so that the server keeps it', () => {
    const recorded = RecordedSession.leading()
    expect(recorded.tickAt).toBe(2000)
    recorded.session.tick(moment(2000))
    expect(recorded.sent('ping')).toHaveLength(1)
    expect(recorded.tickAt).toBe(4000)
  })

  test('C9: a server that answers no ping is not flooded with them', () => {
    const recorded = sessionWith(new RecordedAcquire({ wait: 255, lease: 1 }))
    for (let at = 0; at < 259_000; at += 200) recorded.session.tick(moment(at))
    expect(recorded.ends).toEqual([])
    expect(recorded.sent('ping')).toHaveLength(1000)
  })
})

describe('time and cancel', () => {
  test('C16: without a reply within wait + 5 s the session ends, and its acquires are lost as possibly sent', () => {
    const [overdue, other] = [new RecordedAcquire({ wait: 3 }), new RecordedAcquire({ wait: 100 })]
    const recorded = sessionWith(overdue, other)
    while (recorded.tickAt < 8000) {
      recorded.session.tick(moment(recorded.tickAt))
      recorded.session.receive(pong)
    }
    expect(recorded.ends).toEqual([])
    expect(recorded.tickAt).toBe(8000)
    recorded.session.tick(moment(7999))
    expect(recorded.ends).toEqual([])
    recorded.session.tick(moment(8000))
    expect(recorded.ends).toMatchObject([{ kind: 'no-reply' }])
    expect(overdue.notes).toMatchObject([{ type: 'lost', maySent: true, end: { kind: 'no-reply' } }])
    expect(other.notes).toMatchObject([{ type: 'lost', maySent: true }])
  })

  test('C16: an answered acquire has no deadline any more', () => {
    const request = new RecordedAcquire({ wait: 0 })
    const recorded = sessionWith(request)
    recorded.session.receive({ type: 'not-in-time', owner: request.owner, key: request.key })
    recorded.session.tick(moment(60_000))
    expect(recorded.ends).toEqual([])
  })

  test('C10: a retired session sends nothing more, and still hands on a grant that was on its way', () => {
    const request = new RecordedAcquire()
    const recorded = sessionWith(request)
    const { session } = recorded
    expect(session.mayHaveSent(request.owner)).toBe(true)
    session.retire()
    expect([recorded.retired, session.leads]).toEqual([1, false])
    const before = recorded.frames.length
    session.tick(moment(100_000))
    expect(recorded.frames).toHaveLength(before)
    session.receive(granted(request, 9n))
    expect(request.notes).toMatchObject([{ type: 'granted', token: 9n }])
    expect(recorded.ends).toEqual([])
  })

  test('C10: an acquire whose frame was only gathered was never sent', () => {
    const request = new RecordedAcquire()
    const { session } = RecordedSession.leading()
    session.acquire(request, moment(0))
    expect(session.mayHaveSent(request.owner)).toBe(false)
    session.handedOver()
    expect(session.mayHaveSent(request.owner)).toBe(true)
  })
})
