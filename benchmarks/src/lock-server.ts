import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'

export interface LockServer extends AsyncDisposable {
  readonly address: string
}

/** Starts ticketing-server in a process of its own, on a free port of the loopback interface. */
export async function startLockServer(): Promise<LockServer> {
  const manifest = createRequire(import.meta.url).resolve('@ticketing/server/package.json')
  const child = spawn(process.execPath, [join(dirname(manifest), 'dist/cli.js'), '--listen', '127.0.0.1:0'], {
    // Its log would stand between the figures; what ends it early is told by its exit.
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const exited = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) {
    const address = /127\.0\.0\.1:\d+/.exec(line)?.[0]
    if (address === undefined) continue
    child.stdout.resume()
    return {
      address,
      async [Symbol.asyncDispose]() {
        child.kill('SIGTERM')
        await exited
      },
    }
  }
  throw new Error('ticketing-server ended before it listened.')
}
