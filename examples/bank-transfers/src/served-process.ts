import { describe } from './demo-error.js'

/** What any process of the demo may report besides its own messages. */
export interface Failed {
  readonly type: 'failed'
  readonly message: string
}

/**
 * Runs a process that the demo started: it takes one task, reports while it works, and ends with its parent, whatever
 * becomes of that. A second message asks it to stop.
 */
export function serveParent<Task, Report extends object>(
  work: (task: Task, report: (message: Report) => void, stop: AbortSignal) => Promise<void>,
): void {
  // The channel closes whichever way the parent ends, SIGKILL included.
  process.once('disconnect', () => process.exit(0))
  // A terminal sends Ctrl-C to every process of the demo; the parent alone decides what follows.
  process.on('SIGINT', () => {})
  process.once('SIGTERM', () => process.exit(143))
  process.once('SIGHUP', () => process.exit(129))

  const stop = new AbortController()
  process.once('message', (task) => {
    process.once('message', () => stop.abort())
    void serve(task as Task)
  })

  async function serve(task: Task): Promise<void> {
    try {
      await work(task, send, stop.signal)
    } catch (error) {
      send({ type: 'failed', message: describe(error) } satisfies Failed)
    }
    if (process.connected) process.disconnect()
  }
}

/** A parent that has just ended hears nothing any more; the disconnect that follows ends this process. */
function send(message: object): void {
  process.send?.(message, undefined, undefined, () => {})
}
