import type { Duplex } from 'node:stream'
import type { Address } from '@ticketing/protocol'

/**
 * One point in time on both clocks, in milliseconds. Two are needed because the monotonic clock of Node stops while the
 * machine is suspended, and the wall clock may be set (C9).
 */
export interface Moment {
  readonly monotonic: number
  readonly wall: number
}

export interface Timer {
  cancel(): void
}

/** Where the client gets the time from. */
export interface Clock {
  now(): Moment
  /** Calls back once, after `milliseconds`. The timer keeps the process alive. */
  setTimer(milliseconds: number, callback: () => void): Timer
  /** As {@link setTimer}, but the timer alone does not keep the process alive. */
  setBackgroundTimer(milliseconds: number, callback: () => void): Timer
  /** Calls back once, after what had arrived on the connections by now was read. */
  afterInput(callback: () => void): Timer
}

/** All that a broker takes from its process. Tests and simulations put their own in place. */
export interface Environment {
  readonly clock: Clock
  /** A number from 0 up to but not including 1. */
  random(): number
  randomBytes(count: number): Uint8Array
  /** Starts to connect. A failure is the stream's `error` event, never an exception. */
  openSocket(address: Address): Duplex
}
