import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'

const pollMilliseconds = 5
const waitSecondsMax = 15

/** Polls until `look` finds something. @throws {Error} naming what was waited for, when it does not come. */
export async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  const deadline = performance.now() + waitSecondsMax * 1000
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (performance.now() > deadline) throw new Error(`After ${waitSecondsMax} s still waiting for: ${what}.`)
    await delay(pollMilliseconds)
  }
}

/** Waits until as many backends of this database wait for a lock. */
export async function untilBlocked(admin: pg.Pool, backends = 1): Promise<void> {
  await until(`${backends} backends that wait for a lock`, async () => {
    const { rows } = await admin.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
    return rows[0]?.n === backends
  })
}

/** A promise and what settles it. */
export interface Gate {
  readonly opened: Promise<void>
  open(): void
}

export function gate(): Gate {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
