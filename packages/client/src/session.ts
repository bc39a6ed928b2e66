import type {
  BusyFrame,
  ClientFrame,
  GrantedFrame,
  NotCurrentFrame,
  NotInTimeFrame,
  ReleasedFrame,
  ServerFrame,
} from '@ticketing/protocol'
import type { Moment } from './environment.js'
import { laterMoment } from './lease-clock.js'
import {
  idlePingSeconds,
  pingsPerLease,
  replyGraceSeconds,
  unansweredPingsMax,
  waitingPingSecondsMax,
} from './limits.js'
import { type AcquireRequest, PendingRequests, type ReleaseRequest } from './pending-requests.js'
import { movedAway, protocolBroken, refusedByServer, replyMissing, type SessionEnd } from './session-end.js'

/** What a session wants done. Requests get their results through their own methods. */
export interface SessionOutput {
  /** Hand the frame to the connection, in order, and call {@link Session.handedOver} right before bytes may leave. */
  send(frame: ClientFrame): void
  /** Call {@link Session.tick} when the monotonic clock shows this, in milliseconds; a later call replaces an earlier one. */
  tickAt(monotonic: number): void
  /** {@link Session.leads} may have changed. */
  roleChanged(): void
  /** Send nothing more, what was not handed over included; read what still comes for a bounded time, then close. */
  retire(): void
  /** A grant that nobody asked for, or not any more: give its exact token back on another session (C8). */
  strayGrant(key: string, token: bigint): void
  /** The session is over: close the connection. Called once, before the requests that are lost with it hear of it. */
  ended(end: SessionEnd): void
}

/**
 * One session with a server, from the end of the handshake on, without I/O: frames and times go in, frames to send and
 * results come out. It matches replies (C1, C2, C8), says what is lost (C3, C7), proves grant times by its pings (C9)
 * and gives up on a silent server (C16).
 */
export class Session {
  /** The address of the server, for messages. */
  readonly address: string
  readonly #output: SessionOutput
  readonly #pending = new PendingRequests()
  #phase: 'opening' | 'open' | 'retired' | 'ended' = 'opening'
  #leads = false
  #framesSent = 0
  #framesHandedOver = 0
  /** Send times of the pings without a pong, oldest first. */
  readonly #pings: Moment[] = []
  #provenAt: Moment | undefined
  #pingDueAt: number
  #tickAt = Number.POSITIVE_INFINITY

  constructor(address: string, output: SessionOutput, startedAt: Moment) {
    this.address = address
    this.#output = output
    this.#pingDueAt = startedAt.monotonic + idlePingSeconds * 1000
  }

  /** Whether the server accepted the session (its first `L` came) and nothing has ended it. */
  get isOpen(): boolean {
    return this.#phase === 'open'
  }

  /** Whether acquires may go here: the session is open and its server says that it leads (C6). */
  get leads(): boolean {
    return this.#phase === 'open' && this.#leads
  }

  /** Whether a byte of this pending acquire may have left (C3). */
  mayHaveSent(owner: string): boolean {
    const pending = this.#pending.acquire(owner)
    return pending !== undefined && pending.frameNumber <= this.#framesHandedOver
  }

  /** Sends an acquire, at this moment or later. The session must lead. */
  acquire(request: AcquireRequest, now: Moment): void {
    this.#expectToLead()
    const replyBy = now.monotonic + (request.waitSeconds + replyGraceSeconds) * 1000
    this.#pending.addAcquire({ request, sentAt: now, replyBy, frameNumber: this.#framesSent + 1 })
    this.#pingDueAt = Math.min(this.#pingDueAt, now.monotonic + pingInterval(request.leaseSeconds))
    this.#wake(Math.min(this.#pingDueAt, replyBy))
    const { owner, key, waitSeconds, leaseSeconds } = request
    this.#send({ type: 'acquire', owner, key, waitSeconds, leaseSeconds })
  }

  /** Sends a release, or joins one of the same grant that waits for its reply here. The session must lead. */
  release(request: ReleaseRequest): void {
    this.#expectToLead()
    if (this.#pending.addRelease(request)) {
      this.#send({ type: 'release', token: request.token, key: request.key })
    }
  }

  /** All that was sent so far is about to be handed to the connection: from now on it may have left (C3). */
  handedOver(): void {
    this.#framesHandedOver = this.#framesSent
  }

  /** Handles one frame of the server. Answers whether the next one is wanted. */
  receive(frame: ServerFrame): boolean {
    if (this.#phase === 'ended') return false
    switch (frame.type) {
      case 'granted':
        this.#granted(frame)
        break
      case 'not-in-time':
        this.#takeAcquire(frame, 'T')?.notInTime()
        break
      case 'busy':
        this.#takeAcquire(frame, 'B')?.busy()
        break
      case 'released':
      case 'not-current':
        this.#released(frame)
        break
      case 'pong':
        this.#pong()
        break
      case 'leader':
        this.#roleSaid(frame.leads)
        break
      case 'moved':
        this.end(movedAway(this.address, frame.address))
        break
      case 'error':
        this.end(refusedByServer(this.address, frame.reason))
        break
    }
    return !this.#hasEnded()
  }

  /** Time has passed: pings if one is due, and ends the session if a reply is overdue (C16). */
  tick(now: Moment): void {
    if (this.#phase !== 'open') return
    let replyBy = Number.POSITIVE_INFINITY
    let shortestLease = Number.POSITIVE_INFINITY
    for (const pending of this.#pending.acquires()) {
      replyBy = Math.min(replyBy, pending.replyBy)
      shortestLease = Math.min(shortestLease, pending.request.leaseSeconds)
    }
    if (now.monotonic >= replyBy) {
      this.end(replyMissing(this.address))
      return
    }
    if (now.monotonic >= this.#pingDueAt) {
      this.#pingDueAt = now.monotonic + pingInterval(shortestLease)
      if (this.#pings.length < unansweredPingsMax) {
        this.#pings.push(now)
        this.#send({ type: 'ping' })
      }
    }
    this.#tickAt = Number.POSITIVE_INFINITY
    this.#wake(Math.min(this.#pingDueAt, replyBy))
  }

  /**
   * Gives the session up for a cancel (C10): nothing is sent any more, but what still arrives is read for a bounded time,
   * so that its acquires can hand back a grant that was on its way.
   */
  retire(): void {
    if (this.#phase !== 'open') return
    this.#phase = 'retired'
    this.#output.retire()
  }

  /** Ends the session. Whatever still waits is lost at once, not at its own time (C3). */
  end(end: SessionEnd): void {
    if (this.#phase === 'ended') return
    this.#phase = 'ended'
    const { acquires, releases } = this.#pending.takeAll()
    this.#output.ended(end)
    for (const { request, frameNumber } of acquires) request.lost(end, frameNumber <= this.#framesHandedOver)
    for (const request of releases) request.lost()
  }

  #granted(frame: GrantedFrame): void {
    const pending = this.#pending.takeAcquire(frame.owner, frame.key)
    if (pending === undefined) {
      this.#mismatch('A')
      this.#output.strayGrant(frame.key, frame.token)
      return
    }
    pending.request.granted(frame.token, laterMoment(pending.sentAt, this.#provenAt))
  }

  #takeAcquire(frame: NotInTimeFrame | BusyFrame, letter: string): AcquireRequest | undefined {
    const pending = this.#pending.takeAcquire(frame.owner, frame.key)
    if (pending === undefined) this.#mismatch(letter)
    return pending?.request
  }

  #released(frame: ReleasedFrame | NotCurrentFrame): void {
    const waiting = this.#pending.takeReleases(frame.token, frame.key)
    if (waiting === undefined) {
      this.#mismatch(frame.type === 'released' ? 'R' : 'N')
      return
    }
    for (const request of waiting) request.answered(frame.type)
  }

  #pong(): void {
    const pingedAt = this.#pings.shift()
    if (pingedAt === undefined) this.#mismatch('pong')
    else this.#provenAt = pingedAt
  }

  #roleSaid(leads: boolean): void {
    this.#leads = leads
    if (this.#phase === 'opening') {
      this.#phase = 'open'
      this.#wake(this.#pingDueAt)
    }
    this.#output.roleChanged()
  }

  #mismatch(letter: string): void {
    this.end(protocolBroken(this.address, `it sent a reply (${letter}) to no request of this session.`))
  }

  #send(frame: ClientFrame): void {
    this.#framesSent++
    this.#output.send(frame)
  }

  #wake(monotonic: number): void {
    if (monotonic >= this.#tickAt) return
    this.#tickAt = monotonic
    this.#output.tickAt(monotonic)
  }

  #hasEnded(): boolean {
    return this.#phase === 'ended'
  }

  #expectToLead(): void {
    if (!this.leads) throw new Error('A request was given to a session that does not lead.')
  }
}

/** Milliseconds between two pings while the shortest lease that is waited for has this length (C9). */
function pingInterval(leaseSeconds: number): number {
  if (leaseSeconds === Number.POSITIVE_INFINITY) return idlePingSeconds * 1000
  return Math.min(waitingPingSecondsMax, leaseSeconds / pingsPerLease) * 1000
}
