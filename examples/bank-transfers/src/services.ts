import { TicketBroker } from '@ticketing/client'
import { startEmbeddedPostgres } from '@ticketing/testing'
import { Child } from './child.js'
import { DemoError, describe } from './demo-error.js'
import type { ServerReport } from './server-process.js'

/** Something that a run needs. What the demo started, it stops. */
export interface Service<Access> extends AsyncDisposable {
  readonly access: Access
  /** What it is, for the person who watches. */
  readonly name: string
}

const connectSeconds = 5

/** The database at the given address, or a PostgreSQL of the demo's own. Only its address: nothing is sent to it yet. */
export async function openDatabase(url: string | undefined): Promise<Service<string>> {
  if (url !== undefined) return { access: url, name: 'as given', [Symbol.asyncDispose]: async () => {} }
  try {
    const postgres = await startEmbeddedPostgres()
    return { access: postgres.url, name: 'embedded', [Symbol.asyncDispose]: () => postgres.stop() }
  } catch (error) {
    throw new DemoError(`${describe(error)} Name another database with --database-url.`, { cause: error })
  }
}

/** The given lock servers, or one of the demo's own in a process of its own. */
export async function openServer(given: readonly string[] | undefined): Promise<Service<readonly string[]>> {
  if (given !== undefined) {
    return { access: given, name: `${given.join(', ')}, as given`, [Symbol.asyncDispose]: async () => {} }
  }
  const child = new Child<ServerReport>('server-process', {})
  try {
    const { address } = await child.report('listening')
    const name = `${address}, a process of its own`
    return { access: [address], name, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() }
  } catch (error) {
    await child[Symbol.asyncDispose]()
    throw error
  }
}

/**
 * Connects to the lock service.
 *
 * @throws {DemoError} when it is not there, or does not take the client token.
 */
export async function openBroker(servers: readonly string[], clientToken: string): Promise<TicketBroker> {
  const broker = TicketBroker.connect(servers, { token: clientToken })
  try {
    await broker.waitReady(connectSeconds)
    return broker
  } catch (error) {
    await broker.close()
    throw new DemoError(`The lock service cannot be used, so nothing was run: ${describe(error)}`, { cause: error })
  }
}
