/** What the compiler must accept and must refuse. Checked by `tsc`, never run. */

import { PrismaPg } from '@prisma/adapter-pg'
import type { Broker, Ticket } from '@ticketing/client'
import type { SectionTicket } from '@ticketing/core'
import { expectTypeOf } from 'vitest'
import { type Account, Prisma, PrismaClient } from '../generated/client.js'
import { fenceAdapter, prismaFence } from '../src/index.js'

declare const broker: Broker
declare const ticket: Ticket

// The wrapped adapter is still what it was.
const adapter = fenceAdapter(new PrismaPg({ connectionString: '' }))
expectTypeOf(adapter).toEqualTypeOf<PrismaPg>()

const times = { wait: 5, lease: 30, minWork: 2 } as const
const plain = new PrismaClient({ adapter }).$extends(prismaFence({ broker }))
const full = new PrismaClient({ adapter })
  .$extends({ client: { $before: (text: string) => text.length } })
  .$extends(prismaFence({ broker, defaults: times }))
  .$extends({
    model: {
      account: {
        async overdrawn() {
          return 1
        },
      },
    },
  })
  .$extends({ result: { account: { label: { needs: { id: true }, compute: ({ id }) => `account ${id}` } } } })

// Models keep their types, in what they take and in what they return.
void plain.$fenced('a', times, async (tx, section) => {
  expectTypeOf(section).toEqualTypeOf<SectionTicket>()
  expectTypeOf(await tx.account.findFirst()).toEqualTypeOf<Account | null>()
  await tx.account.update({ where: { id: 'a' }, data: { balance: { decrement: 10 } } })
  // @ts-expect-error -- no such field
  await tx.account.update({ where: { id: 'a' }, data: { amount: 10 } })
  // @ts-expect-error -- no such model
  void tx.accounts
  const raw = await tx.$queryRaw<{ n: bigint }[]>(Prisma.sql`SELECT 1`)
  expectTypeOf(raw).toEqualTypeOf<{ n: bigint }[]>()
})

// Members of other extensions, added before and after this one, are there.
void full.$fenced('a', async (tx) => {
  expectTypeOf(tx.$before('text')).toEqualTypeOf<number>()
  expectTypeOf(await tx.account.overdrawn()).toEqualTypeOf<number>()
  expectTypeOf((await tx.account.findFirstOrThrow()).label).toEqualTypeOf<string>()
})

// What would leave the section is not.
void full.$fenced('a', (tx) => {
  // @ts-expect-error -- a section's transaction is one
  void tx.$transaction
  // @ts-expect-error -- no section inside a section
  void tx.$fenced
  // @ts-expect-error -- no section inside a section
  void tx.$fence
  // @ts-expect-error -- the connection is the section's
  void tx.$connect
  // @ts-expect-error -- the connection is the section's
  void tx.$disconnect
  // @ts-expect-error -- an extension of it would be another client
  void tx.$extends
})

// The result is the work's. Options may be left out with full defaults, and only then.
expectTypeOf(full.$fenced('a', (tx) => tx.account.count())).toEqualTypeOf<Promise<number>>()
expectTypeOf(full.$fenced(['a', 'b'], { retries: 1 }, () => 'text')).toEqualTypeOf<Promise<string>>()
// @ts-expect-error -- no wait, lease and minWork
void plain.$fenced('a', () => undefined)
// @ts-expect-error -- no minWork
void plain.$fenced('a', { wait: 5, lease: 30 }, () => undefined)
// @ts-expect-error -- no such option
void full.$fenced('a', { timeout: 5_000 }, () => undefined)

// The fence itself.
expectTypeOf(full.$fence().runWith(ticket, (tx) => tx.account.count())).toEqualTypeOf<Promise<number>>()
void full.$transaction(async (tx) => {
  expectTypeOf(full.$fence().claim(tx, ticket)).toEqualTypeOf<Promise<void>>()
})
full.$fence().on('retry', ({ of }) => expectTypeOf(of).toEqualTypeOf<'claim' | 'work'>())
expectTypeOf(full.$fence().migrate()).toEqualTypeOf<Promise<void>>()

// @ts-expect-error -- a fence needs a broker
prismaFence({})
