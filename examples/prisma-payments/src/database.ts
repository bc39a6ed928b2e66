import { PrismaPg } from '@prisma/adapter-pg'
import type { AcquireOptions, Broker } from '@ticketing/client'
import { fenceAdapter, prismaFence } from '@ticketing/prisma'
import { PrismaClient } from '../generated/client.js'

/** A Prisma client with `$fenced`. */
export function connect(connectionString: string, broker: Broker, times: AcquireOptions) {
  const adapter = fenceAdapter(new PrismaPg({ connectionString }))
  return new PrismaClient({ adapter }).$extends(prismaFence({ broker, defaults: times }))
}

export type FencedPrisma = ReturnType<typeof connect>

/** What stands in an application's migrations: the tables of its models, and those of the fence. */
export async function createTables(prisma: FencedPrisma): Promise<void> {
  await prisma.$executeRaw`
    CREATE TABLE account (id text PRIMARY KEY, opening integer NOT NULL, balance integer NOT NULL)`
  await prisma.$executeRaw`
    CREATE TABLE payment (id text PRIMARY KEY, "from" text NOT NULL REFERENCES account (id),
      "to" text NOT NULL REFERENCES account (id), amount integer NOT NULL)`
  await prisma.$fence().migrate()
}
