import { PrismaPg } from '@prisma/adapter-pg'
import { anyFence, type ConformanceSubject, fenceConformance } from '@ticketing/testing/conformance'
import { PrismaClient } from '../generated/client.js'
import { fenceAdapter, type PrismaTransactionClient, prismaFence } from '../src/index.js'

function subject(shown: boolean): ConformanceSubject['open'] {
  return async ({ url, connectionsMax, broker, table }) => {
    const adapter = new PrismaPg({ connectionString: url, max: connectionsMax })
    const client = new PrismaClient({ adapter: shown ? fenceAdapter(adapter) : adapter })
    const make = () => anyFence(client.$extends(prismaFence({ broker, table })).$fence())
    const query = async (on: unknown, sql: string) =>
      (await (on as PrismaTransactionClient).$queryRawUnsafe(sql)) as Record<string, unknown>[]
    return {
      fence: make(),
      twin: make,
      query,
      queryPool: (sql) => query(client, sql),
      transaction: (work) => client.$transaction((tx) => work(tx)),
      queryCaller: query,
      nest: (tx, work) => (tx as PrismaClient).$transaction((inner) => work(inner)),
      close: () => client.$disconnect(),
    }
  }
}

fenceConformance({ adapter: 'Prisma', open: subject(true) })

const hidden = 'Prisma hides the connection; wrap the driver adapter in fenceAdapter'
fenceConformance({
  adapter: 'Prisma without fenceAdapter',
  missing: {
    'checks without a round trip': hidden,
    'stops after the work’s own end': hidden,
    'sees a connection’s state': hidden,
    'destroys connections': hidden,
  },
  open: subject(false),
})
