import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A TCP port of 127.0.0.1 that nobody listened on a moment ago. For programs that cannot take port 0 themselves;
 * somebody else may get there first, so that their start has to be tried again with another port.
 */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('The system gave a listener no TCP address.')
  return address.port
}

/** Whether a TCP port of 127.0.0.1 could be listened on just now. */
export async function portIsFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
