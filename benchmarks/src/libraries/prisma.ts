import { PrismaPg } from '@prisma/adapter-pg'
import { fenceAdapter, prismaFence } from '@ticketing/prisma'
import { PrismaClient } from '../../generated/client.js'
import { defaults, fenceTable, keyOf, type Library, type LibrarySettings, update } from './library.js'

export async function openPrisma({ url, connectionsMax, broker }: LibrarySettings): Promise<Library> {
  const adapter = fenceAdapter(new PrismaPg({ connectionString: url, max: connectionsMax }))
  const prisma = new PrismaClient({ adapter }).$extends(prismaFence({ broker, table: fenceTable, defaults }))
  // The bare transaction is one of an application without any fence.
  const bare = new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max: connectionsMax }) })
  await prisma.$fence().migrate()
  return {
    name: 'Prisma',
    transaction: (worker, before) =>
      bare.$transaction(async (tx) => {
        if (before !== undefined) await tx.$executeRawUnsafe(before('$1'), worker)
        await tx.$executeRawUnsafe(update('$1'), worker)
      }),
    fenced: (worker) => prisma.$fenced(keyOf(worker), (tx) => tx.$executeRawUnsafe(update('$1'), worker)),
    async [Symbol.asyncDispose]() {
      await prisma.$disconnect()
      await bare.$disconnect()
    },
  }
}
