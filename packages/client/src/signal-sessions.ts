import type { AcquireAttempt, AcquireRoute } from './acquire-attempt.js'
import { idleSignalSessionsMax } from './limits.js'
import type { SessionEnd } from './session-end.js'
import { SessionLink } from './session-link.js'
import type { Servers, SessionsListener, SharedSessions } from './shared-sessions.js'

/**
 * Sessions for acquires that carry a signal. Each serves, at any one time, the acquires of one signal: a cancel costs
 * its session, and must take nobody else down. A session that no signal uses is kept for the next one (C10).
 */
export class SignalSessions implements AcquireRoute {
  readonly #servers: Omit<Servers, 'addresses'>
  readonly #shared: SharedSessions
  readonly #listener: SessionsListener
  readonly #groups = new Map<AbortSignal, SignalGroup>()
  readonly #lines = new Set<Line>()
  readonly #idle: Line[] = []
  #lastFailure: SessionEnd | undefined

  constructor(servers: Omit<Servers, 'addresses'>, shared: SharedSessions, listener: SessionsListener) {
    this.#servers = servers
    this.#shared = shared
    this.#listener = listener
  }

  get lastFailure(): SessionEnd | undefined {
    return this.#shared.leading === undefined ? this.#shared.lastFailure : this.#lastFailure
  }

  place(attempt: AcquireAttempt): void {
    const group = this.#groupOf(attempt.signal as AbortSignal)
    group.attempts.add(attempt)
    group.line ??= this.#takeIdle() ?? this.#open()
    if (group.line !== undefined) group.line.group = group
    const session = group.line?.link.leading
    if (session === undefined) attempt.awaitSession()
    else attempt.sendOn(session)
  }

  forget(attempt: AcquireAttempt): void {
    const group = this.#groups.get(attempt.signal as AbortSignal)
    if (group === undefined) return
    group.attempts.delete(attempt)
    if (group.attempts.size === 0) this.#dissolve(group)
  }

  /** A leading server may be known now: groups without a session get one. */
  openWaiting(): void {
    for (const group of this.#groups.values()) {
      if (group.line === undefined) for (const attempt of [...group.attempts]) this.place(attempt)
    }
  }

  close(): void {
    for (const line of [...this.#lines]) line.link.close()
    this.#lines.clear()
    this.#idle.length = 0
  }

  #groupOf(signal: AbortSignal): SignalGroup {
    const known = this.#groups.get(signal)
    if (known !== undefined) return known
    const group: SignalGroup = { signal, attempts: new Set(), line: undefined, abort: () => this.#abort(group) }
    signal.addEventListener('abort', group.abort, { once: true })
    this.#groups.set(signal, group)
    return group
  }

  #takeIdle(): Line | undefined {
    for (let line = this.#idle.pop(); line !== undefined; line = this.#idle.pop()) {
      if (line.link.leading !== undefined) return line
      this.#discard(line)
    }
    return undefined
  }

  /** Opens a session with a server that is known to lead. */
  #open(): Line | undefined {
    const address = this.#shared.leadingAddress
    if (address === undefined) return undefined
    const line: Line = {
      group: undefined,
      link: new SessionLink(
        { ...this.#servers, address },
        {
          changed: () => this.#changed(line),
          ended: (end) => this.#ended(line, end),
          strayGrant: (key, token) => this.#listener.strayGrant(key, token),
        },
      ),
    }
    this.#lines.add(line)
    return line
  }

  #changed(line: Line): void {
    const session = line.link.leading
    if (session === undefined) return
    if (line.group === undefined) this.#keepOrClose(line)
    else for (const attempt of line.group.attempts) if (!attempt.isPlaced) attempt.sendOn(session)
  }

  /** While a group needs it, a session that was lost is connected again by its link. */
  #ended(line: Line, end: SessionEnd): void {
    if (line.group === undefined) this.#discard(line)
    else this.#lastFailure = end
  }

  /** The signal aborted: its acquires are cancelled, and a session that carried one of them is given up (C10). */
  #abort(group: SignalGroup): void {
    const { line } = group
    if (line !== undefined && [...group.attempts].some((attempt) => attempt.isPlaced)) {
      group.line = undefined
      line.group = undefined
      line.link.retire()
    }
    for (const attempt of [...group.attempts]) attempt.cancel()
  }

  #dissolve(group: SignalGroup): void {
    group.signal.removeEventListener('abort', group.abort)
    this.#groups.delete(group.signal)
    const { line } = group
    if (line === undefined) return
    group.line = undefined
    line.group = undefined
    if (line.link.leading !== undefined) this.#keepOrClose(line)
    else if (!line.link.isConnecting) this.#discard(line)
  }

  #keepOrClose(line: Line): void {
    if (this.#idle.includes(line)) return
    if (this.#idle.length < idleSignalSessionsMax) this.#idle.push(line)
    else line.link.close()
  }

  #discard(line: Line): void {
    line.link.close()
    this.#lines.delete(line)
    const index = this.#idle.indexOf(line)
    if (index !== -1) this.#idle.splice(index, 1)
  }
}

/** The acquires of one signal, and the session that they share. */
interface SignalGroup {
  readonly signal: AbortSignal
  readonly attempts: Set<AcquireAttempt>
  line: Line | undefined
  readonly abort: () => void
}

/** A session apart from the shared ones, and who uses it. */
interface Line {
  readonly link: SessionLink
  group: SignalGroup | undefined
}
