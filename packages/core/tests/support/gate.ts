/** A place where something stops until the test lets it go on. */
export class Gate {
  readonly reached: Promise<void>
  #arrive!: () => void
  readonly #opened: Promise<void>
  /** Lets through whatever waits here, and all that comes. */
  open!: () => void

  constructor() {
    this.reached = new Promise((resolve) => {
      this.#arrive = resolve
    })
    this.#opened = new Promise((resolve) => {
      this.open = resolve
    })
  }

  /** What stops here, as a step's act. */
  readonly wait = async (): Promise<void> => {
    this.#arrive()
    await this.#opened
  }
}

/** Lets everything that is already under way in this process come to its end or to its next gate. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** The error that a promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('The promise was expected to reject, and it resolved.')
}

/** The unhandled rejections that come while `run` runs and right after. */
export async function unhandledRejections(run: () => Promise<unknown>): Promise<unknown[]> {
  const seen: unknown[] = []
  const listener = (reason: unknown) => seen.push(reason)
  process.on('unhandledRejection', listener)
  try {
    await run()
    await settle()
  } finally {
    process.off('unhandledRejection', listener)
  }
  return seen
}
