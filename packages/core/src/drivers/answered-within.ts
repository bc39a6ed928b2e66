/** How long BEGIN may go without an answer where nothing else bounds it. */
export const beginMillisecondsMax = 5_000

/** How long COMMIT may go without an answer before its outcome is called unknown. */
export const commitMillisecondsMax = 30_000

/** How long ROLLBACK may take, the statement before it included, before the connection is destroyed instead. */
export const rollbackMillisecondsMax = 5_000

/** How long the claim may go without an answer once the lease, and with it the database's own bound, is over. */
const claimMillisecondsMax = 1_000

/**
 * Waits for the answer to a statement of the fence itself: as long as the transaction is bounded by the database, and a
 * little more, in case the connection is silent.
 *
 * @param remaining - milliseconds until that bound; without one the wait is not limited.
 */
export function answeredWithinLease<T>(remaining: number | undefined, answer: Promise<T>): Promise<T> {
  if (remaining === undefined) return answer
  return answeredWithin(remaining + claimMillisecondsMax, 'A statement of the fence', answer)
}

/** The part of each of these bounds that a process which stood still gets after it is awake again. */
const lastMilliseconds = 1_000

/**
 * Waits for an answer for a limited time, of which the last second is counted by itself: to a process that stood still
 * (swapped out, paused) the time may be over before it could read, or even send, anything since.
 *
 * @throws {Error} where the answer does not come in time; it is then no longer waited for.
 */
export async function answeredWithin<T>(milliseconds: number, what: string, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const expire = () => reject(new Error(`${what} was not answered within ${milliseconds / 1000} s.`))
    const countLastSecond = () => {
      timer = setTimeout(expire, lastMilliseconds)
    }
    timer = setTimeout(countLastSecond, milliseconds - lastMilliseconds)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
