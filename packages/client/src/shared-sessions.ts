import type { Address } from '@ticketing/protocol'
import type { AcquireAttempt, AcquireRoute } from './acquire-attempt.js'
import type { Environment } from './environment.js'
import type { Session } from './session.js'
import type { SessionEnd } from './session-end.js'
import { SessionLink } from './session-link.js'

/** What the sessions of a broker tell it. */
export interface SessionsListener {
  /** A leading session may be there now. */
  leadingChanged(): void
  strayGrant(key: string, token: bigint): void
}

/** Where a broker may connect to, and as whom. */
export interface Servers {
  readonly addresses: readonly Address[]
  readonly secret: string
  readonly environment: Environment
}

/** The sessions that all acquires without a signal share: one for each address (C1, C6). */
export class SharedSessions implements AcquireRoute {
  readonly #links: readonly { readonly address: Address; readonly link: SessionLink }[]
  readonly #unsent = new Set<AcquireAttempt>()
  #lastFailure: SessionEnd | undefined

  constructor({ addresses, secret, environment }: Servers, listener: SessionsListener) {
    const linkListener = {
      changed: () => {
        this.#sendUnsent()
        listener.leadingChanged()
      },
      ended: (end: SessionEnd) => {
        this.#lastFailure = end
      },
      strayGrant: (key: string, token: bigint) => listener.strayGrant(key, token),
    }
    this.#links = addresses.map((address) => {
      return { address, link: new SessionLink({ address, secret, environment }, linkListener) }
    })
  }

  get lastFailure(): SessionEnd | undefined {
    return this.#lastFailure
  }

  /** A session whose server leads, if there is one. */
  get leading(): Session | undefined {
    for (const { link } of this.#links) {
      const session = link.leading
      if (session !== undefined) return session
    }
    return undefined
  }

  /** The address of a server that leads, if one is known. */
  get leadingAddress(): Address | undefined {
    return this.#links.find(({ link }) => link.leading !== undefined)?.address
  }

  place(attempt: AcquireAttempt): void {
    const session = this.leading
    if (session !== undefined) {
      attempt.sendOn(session)
    } else {
      this.#unsent.add(attempt)
      attempt.awaitSession()
    }
  }

  forget(attempt: AcquireAttempt): void {
    this.#unsent.delete(attempt)
  }

  close(): void {
    for (const { link } of this.#links) link.close()
  }

  #sendUnsent(): void {
    const session = this.leading
    if (session === undefined) return
    for (const attempt of this.#unsent) attempt.sendOn(session)
    this.#unsent.clear()
  }
}
