import type { Ticket, TicketError } from '@ticketing/client'
import {
  type AcquireSettings,
  answerLost,
  cancelled,
  closedWhilePending,
  connectionLost,
  leaseTooShort,
  notInTime,
  replyGraceSeconds,
} from '@ticketing/client/internal'
import { turns } from './fake-broker-clock.js'
import type { FakeSurroundings } from './fake-broker-surroundings.js'
import type { Holding, LockRequest } from './fake-broker-table.js'
import { FakeTicket } from './fake-broker-ticket.js'

/** Sends one acquire and follows it to its single outcome. */
export function sendAcquire(settings: AcquireSettings, around: FakeSurroundings): Promise<Ticket> {
  return new Promise((resolve, reject) => {
    const acquire = new FakeAcquire(settings, around, { resolve, reject })
    acquire.send()
  })
}

interface Caller {
  resolve(ticket: Ticket): void
  reject(error: TicketError): void
}

/** One acquire from the call to its outcome (C3, C9, C10, C16). */
class FakeAcquire implements LockRequest {
  readonly key: string
  readonly waitSeconds: number
  readonly leaseSeconds: number
  readonly #settings: AcquireSettings
  readonly #around: FakeSurroundings
  readonly #caller: Caller
  /** `cancelled`: a grant that still arrives is given back (C10). `closed`: nobody reads it any more. */
  #state: 'open' | 'settled' | 'cancelled' | 'closed' = 'open'
  #stopListening = () => {}

  constructor(settings: AcquireSettings, around: FakeSurroundings, caller: Caller) {
    this.key = settings.key
    this.waitSeconds = settings.waitSeconds
    this.leaseSeconds = settings.leaseSeconds
    this.#settings = settings
    this.#around = around
    this.#caller = caller
  }

  send(): void {
    const { clock, network, table, lifecycle } = this.#around
    this.#listen()
    const close = () => this.#giveUp(closedWhilePending(this.#settings, true))
    lifecycle.pending?.add(close)
    this.#onSettled(() => lifecycle.pending?.delete(close))
    if (network.loses('request', 'acquire')) {
      this.#lost('The fake broker lost the request')
      return
    }
    table.acquire(this)
    if (this.#state !== 'open') return
    const cancelGiveUp = clock.after(this.waitSeconds + replyGraceSeconds, turns.clientNotices, () => {
      table.leaveQueue(this)
      this.#lost('The fake broker held the answer back for longer than the wait and 5 s')
    })
    this.#onSettled(cancelGiveUp)
  }

  #onSettled(stop: () => void): void {
    const stopListening = this.#stopListening
    this.#stopListening = () => {
      stopListening()
      stop()
    }
  }

  granted(holding: Holding): void {
    this.#answer(() => this.#receiveGrant(holding))
  }

  notInTime(): void {
    this.#answer(() => {
      if (this.#state === 'open') this.#fail('settled', 'refused', notInTime(this.#settings))
    })
  }

  #answer(receive: () => void): void {
    const { network } = this.#around
    if (network.loses('answer', 'acquire')) this.#lost('The fake broker lost the answer')
    else network.answer(this.key, receive)
  }

  #receiveGrant(holding: Holding): void {
    const { clock, table } = this.#around
    const { minWorkSeconds } = this.#settings
    if (this.#state === 'closed') return
    const remaining = Math.max(0, holding.leaseEndsAtMilliseconds - clock.milliseconds) / 1000
    // On a real network some of the lease is always gone by now, so a rest equal to the minimum work never is enough.
    if (this.#state === 'open' && remaining > minWorkSeconds) {
      this.#settle('settled')
      this.#caller.resolve(new FakeTicket(this.key, holding, this.#around))
      return
    }
    table.release(this.key, holding.token)
    if (this.#state === 'open') this.#fail('settled', 'refused', leaseTooShort(this.#settings, remaining))
  }

  /** C10 */
  #listen(): void {
    const { signal } = this.#settings
    if (signal === undefined) return
    const cancel = () => this.#giveUp(cancelled(this.#settings, true))
    signal.addEventListener('abort', cancel, { once: true })
    this.#stopListening = () => signal.removeEventListener('abort', cancel)
  }

  /** A grant that still arrives is given back. */
  #giveUp(error: TicketError): void {
    this.#around.table.leaveQueue(this)
    this.#fail('cancelled', 'cancelled', error)
  }

  /** C3 */
  #lost(what: string): void {
    if (this.#state !== 'open') return
    this.#fail('closed', 'lost', answerLost(this.#settings, connectionLost(what).error))
  }

  #fail(state: 'settled' | 'cancelled' | 'closed', event: 'refused' | 'cancelled' | 'lost', error: TicketError): void {
    this.#settle(state)
    this.#around.write({ event, key: this.key, code: error.code })
    this.#caller.reject(error)
  }

  #settle(state: 'settled' | 'cancelled' | 'closed'): void {
    this.#state = state
    this.#stopListening()
  }
}
