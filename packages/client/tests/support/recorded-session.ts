import {
  type AcquireRequest,
  type Moment,
  type ReleaseRequest,
  Session,
  type SessionEnd,
} from '@ticketing/client/internal'
import type { ClientFrame } from '@ticketing/protocol'

/** A session whose effects are written down instead of carried out. */
export class RecordedSession {
  readonly frames: ClientFrame[] = []
  readonly strayGrants: { readonly key: string; readonly token: bigint }[] = []
  readonly ends: SessionEnd[] = []
  tickAt = Number.POSITIVE_INFINITY
  retired = 0
  readonly session: Session

  constructor(startedAt: Moment = moment(0)) {
    this.session = new Session(
      'server:1',
      {
        send: (frame) => this.frames.push(frame),
        tickAt: (monotonic) => {
          this.tickAt = monotonic
        },
        roleChanged: () => {},
        retire: () => {
          this.retired++
        },
        strayGrant: (key, token) => this.strayGrants.push({ key, token }),
        ended: (end) => this.ends.push(end),
      },
      startedAt,
    )
  }

  /** A session whose server has said that it leads. */
  static leading(startedAt?: Moment): RecordedSession {
    const recorded = new RecordedSession(startedAt)
    recorded.session.receive({ type: 'leader', leads: true, address: undefined })
    return recorded
  }

  sent(type: ClientFrame['type']): readonly ClientFrame[] {
    return this.frames.filter((frame) => frame.type === type)
  }
}

export type AcquireNote =
  | { readonly type: 'granted'; readonly token: bigint; readonly provenAt: Moment }
  | { readonly type: 'not-in-time' }
  | { readonly type: 'busy' }
  | { readonly type: 'lost'; readonly end: SessionEnd; readonly maySent: boolean }

let owners = 0

/** An acquire that writes down what its session tells it. */
export class RecordedAcquire implements AcquireRequest {
  readonly notes: AcquireNote[] = []
  readonly owner: string
  readonly key: string
  readonly waitSeconds: number
  readonly leaseSeconds: number

  constructor({ key = 'k', wait = 10, lease = 30, owner = `owner${String(owners++).padStart(11, '0')}` } = {}) {
    this.owner = owner
    this.key = key
    this.waitSeconds = wait
    this.leaseSeconds = lease
  }

  granted(token: bigint, provenAt: Moment): void {
    this.notes.push({ type: 'granted', token, provenAt })
  }

  notInTime(): void {
    this.notes.push({ type: 'not-in-time' })
  }

  busy(): void {
    this.notes.push({ type: 'busy' })
  }

  lost(end: SessionEnd, maySent: boolean): void {
    this.notes.push({ type: 'lost', end, maySent })
  }
}

/** A release that writes down what its session tells it. */
export class RecordedRelease implements ReleaseRequest {
  readonly notes: string[] = []

  constructor(
    readonly key: string,
    readonly token: bigint,
  ) {}

  answered(result: string): void {
    this.notes.push(result)
  }

  lost(): void {
    this.notes.push('lost')
  }
}

/** A moment at which both clocks agree. */
export function moment(milliseconds: number): Moment {
  return { monotonic: milliseconds, wall: 1_700_000_000_000 + milliseconds }
}
