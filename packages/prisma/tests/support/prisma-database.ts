import { PrismaPg } from '@prisma/adapter-pg'
import { createDatabase, type DatabaseTarget, type TestDatabase } from '@ticketing/testing'
import pg from 'pg'
import { type Prisma, PrismaClient } from '../../generated/client.js'
import { fenceAdapter } from '../../src/index.js'

/** With the driver's transactions shown to the fence, and without. */
export const adapters = [
  { name: 'with fenceAdapter', shown: true },
  { name: 'without fenceAdapter', shown: false },
] as const

/** A database with the models' tables, and Prisma clients on it. */
export class PrismaDatabase implements AsyncDisposable {
  readonly url: string
  /** Looks on from outside: takes part in no section. */
  readonly admin: pg.Pool
  readonly #database: TestDatabase
  readonly #clients: { $disconnect(): Promise<void> }[] = []

  private constructor(database: TestDatabase) {
    this.#database = database
    this.url = database.url
    this.admin = new pg.Pool({ connectionString: database.url, max: 2 })
    this.admin.on('error', () => undefined)
  }

  static async create(target: DatabaseTarget): Promise<PrismaDatabase> {
    const database = new PrismaDatabase(await createDatabase(target))
    await database.admin.query(
      'CREATE TABLE account (id text PRIMARY KEY, balance integer NOT NULL); ' +
        'CREATE TABLE entry (id serial PRIMARY KEY, account_id text NOT NULL REFERENCES account DEFERRABLE INITIALLY ' +
        'DEFERRED, amount integer NOT NULL)',
    )
    return database
  }

  /** A client on a pool of its own; of one connection, so that a section that took a second one would wait for itself. */
  client(shown: boolean, max = 1, options: Pick<Prisma.PrismaClientOptions, 'comments'> = {}): PrismaClient {
    const adapter = new PrismaPg({ connectionString: this.url, max })
    const client = new PrismaClient({ ...options, adapter: shown ? fenceAdapter(adapter) : adapter })
    this.#clients.push(client)
    return client
  }

  async balance(id: string): Promise<number | undefined> {
    const { rows } = await this.admin.query<{ balance: number }>('SELECT balance FROM account WHERE id = $1', [id])
    return rows[0]?.balance
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.$disconnect()))
    await this.admin.end()
    await this.#database[Symbol.asyncDispose]()
  }
}
