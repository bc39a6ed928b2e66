/** Waits until a condition holds, by letting the event loop turn. The test's own time is the bound. */
export async function until(condition: () => boolean): Promise<void> {
  for (let turns = 0; !condition(); turns++) {
    if (turns < 100) await turn()
    else await new Promise((resolve) => setTimeout(resolve, 2)) // leaves the processor to whom is waited for
  }
}

/** Lets everything that is on its way on this machine's sockets arrive: several turns of the event loop. */
export async function settle(turns = 20): Promise<void> {
  for (let i = 0; i < turns; i++) await turn()
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
