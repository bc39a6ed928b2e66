import type { Clock, Moment, Timer } from './environment.js'
import { stallMilliseconds } from './limits.js'

/**
 * Calls back once the monotonic clock shows `dueAt`, in milliseconds. A time that ran out because this process stood
 * still is not held against the peer yet: what arrived meanwhile is read first.
 */
export function setDeadline(clock: Clock, dueAt: number, callback: (now: Moment) => void): Timer {
  const milliseconds = Math.max(0, Math.ceil(dueAt - clock.now().monotonic))
  let timer = clock.setTimer(milliseconds, () => {
    const now = clock.now()
    if (now.monotonic - dueAt <= stallMilliseconds) callback(now)
    else timer = clock.afterInput(() => callback(clock.now()))
  })
  return { cancel: () => timer.cancel() }
}
