import { FenceError, StaleTokenError } from '@ticketing/core'
import { ScriptedBroker } from '@ticketing/testing'
import { databaseTargets } from '@ticketing/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { prismaFence } from '../src/index.js'
import { adapters, PrismaDatabase } from './support/prisma-database.js'

const defaults = { wait: 0, lease: 20, minWork: 1 } as const

function fenced(database: PrismaDatabase, broker: ScriptedBroker, shown: boolean) {
  return database.client(shown).$extends(prismaFence({ broker, defaults }))
}
type Fenced = ReturnType<typeof fenced>
type Tx = Parameters<Parameters<Fenced['$transaction']>[0]>[0]

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable('the section reported success'),
    (error: unknown) => error as FenceError & { cause: unknown },
  )

const withdraw = (tx: Pick<Tx, 'account'>) =>
  tx.account.update({ where: { id: 'a' }, data: { balance: { decrement: 10 } } })

describe.each(databaseTargets())('$name', (target) => {
  describe.each(adapters)('$name', ({ shown }) => {
    let database: PrismaDatabase
    let broker: ScriptedBroker
    let prisma: Fenced

    beforeAll(async () => {
      database = await PrismaDatabase.create(target)
      broker = new ScriptedBroker()
      prisma = fenced(database, broker, shown)
      await prisma.$fence().migrate()
    })

    beforeEach(async () => {
      await database.admin.query("DELETE FROM entry; DELETE FROM account; INSERT INTO account VALUES ('a', 100)")
    })

    afterAll(() => database[Symbol.asyncDispose]())

    it('F1: the high-water moves with the business write, and the work’s result is the section’s', async () => {
      const result = await prisma.$fenced(['b', 'a'], async (tx, ticket) => {
        const { balance } = await withdraw(tx)
        return [balance, ticket.keys]
      })
      expect(result).toEqual([90, ['a', 'b']])
      expect(await database.balance('a')).toBe(90)
      const { rows } = await database.admin.query('SELECT token::text FROM ticketing_fence ORDER BY lock_key')
      expect(rows).toEqual([{ token: String(broker.lastToken - 1n) }, { token: String(broker.lastToken) }])
    })

    it('F2: a stale ticket is refused with its token and the high-water, and nothing is written', async () => {
      await prisma.$fenced('a', withdraw)
      const highWater = broker.lastToken
      broker.grantNext(highWater)
      const error = await failureOf(prisma.$fenced('a', withdraw))
      expect(error).toBeInstanceOf(StaleTokenError)
      expect(error).toMatchObject({ key: 'a', token: highWater, highWater })
      expect(await database.balance('a')).toBe(90)
    })

    it.each([
      ['COMMIT', 'FENCE_TX_ENDED'],
      ['ROLLBACK', 'FENCE_TX_ENDED'],
      ['COMMIT AND CHAIN', 'FENCE_TX_ENDED'],
      ['ROLLBACK AND CHAIN', 'FENCE_TX_ENDED'],
      ['SELECT 1/0', 'FENCE_TX_ABORTED'],
    ])('F12, fault 1: %s inside, its error caught, ends as %s and the pool stays sound', async (statement, code) => {
      const error = await failureOf(
        prisma.$fenced('a', async (tx) => {
          await tx.$executeRawUnsafe(statement).catch(() => undefined)
          await withdraw(tx).catch(() => undefined)
        }),
      )
      expect(error.code).toBe(code)
      // What the work wrote after its own COMMIT or ROLLBACK is not stopped where the driver hides the status.
      if (shown || code === 'FENCE_TX_ABORTED') expect(await database.balance('a')).toBe(100)
      await prisma.$fenced('a', withdraw)
    })

    it('F12: a caught error of a model’s query, which aborted the transaction, is no success', async () => {
      const error = await failureOf(
        prisma.$fenced('a', async (tx) => {
          await tx.account.create({ data: { id: 'a', balance: 1 } }).catch(() => undefined)
        }),
      )
      expect(error.code).toBe('FENCE_TX_ABORTED')
    })

    it('F9, F12: a raw savepoint may be rolled back inside a section', async () => {
      await prisma.$fenced('a', async (tx) => {
        await withdraw(tx)
        await tx.$executeRawUnsafe('SAVEPOINT before')
        await tx.$executeRawUnsafe('SELECT 1/0').catch(() => undefined)
        await tx.$executeRawUnsafe('ROLLBACK TO before')
      })
      expect(await database.balance('a')).toBe(90)
    })

    it('F9, fault 15: what would open another transaction is taken away from tx', async () => {
      for (const name of ['$transaction', '$fenced', '$fence', '$connect', '$disconnect', '$extends']) {
        const error = await failureOf(
          prisma.$fenced('a', async (tx) => {
            await (tx as unknown as Record<string, () => Promise<unknown>>)[name]?.()
          }),
        )
        expect(error.code).toBe('FENCE_INVALID_ARGUMENT')
        expect(error.message).toContain(`tx.${name}`)
      }
    })

    it('F9: a section through the outer client is refused inside a section, whatever client it came from', async () => {
      const other = prisma.$extends({ name: 'another extension' })
      for (const client of [prisma, other]) {
        const error = await failureOf(prisma.$fenced('a', () => client.$fenced('b', () => undefined)))
        expect(error.code).toBe('FENCE_NESTED')
      }
    })

    it('fault 2: a COMMIT that a deferred constraint refuses is no success', async () => {
      const error = await failureOf(
        prisma.$fenced('a', (tx) =>
          tx.$executeRawUnsafe("INSERT INTO entry (account_id, amount) VALUES ('nobody', 1)"),
        ),
      )
      expect(error).toMatchObject({ code: 'FENCE_COMMIT_FAILED', outcome: 'not-executed' })
      expect((await database.admin.query('SELECT 1 FROM entry')).rowCount).toBe(0)
    })

    it('F13, fault 11: a backend that was killed inside is never handed out again, and the process lives', async () => {
      const pidOf = (rows: unknown) => (rows as { pid: number }[])[0]?.pid
      let pid: unknown
      const error = await failureOf(
        prisma.$fenced('a', async (tx) => {
          pid = pidOf(await tx.$queryRaw`SELECT pg_backend_pid() AS pid`)
          await tx.$executeRaw`SELECT pg_terminate_backend(pg_backend_pid())`.catch(() => undefined)
        }),
      )
      expect(error).toBeInstanceOf(Error)
      expect(pidOf(await prisma.$queryRaw`SELECT pg_backend_pid() AS pid`)).not.toBe(pid)
      expect(await prisma.$fenced('a', () => 'again')).toBe('again')
    })

    it('F14, fault 3: work that goes on after the section is refused, never autocommitted', async () => {
      let late: Pick<Tx, 'account'> | undefined
      let prepared: PromiseLike<unknown> | undefined
      let running: Promise<unknown> = Promise.resolve()
      await prisma.$fenced('a', async (tx) => {
        late = tx
        await withdraw(tx)
        // Prisma sends it only when it is awaited.
        prepared = withdraw(tx)
        running = (async () => {
          for (;;) await withdraw(tx)
        })()
        running.catch(() => undefined)
      })
      const committed = await database.balance('a')
      await expect(running).rejects.toThrow()
      await expect(prepared).rejects.toThrow()
      await expect((async () => await withdraw(late as Tx))()).rejects.toMatchObject({ code: 'FENCE_HANDLE_ENDED' })
      expect(await database.balance('a')).toBe(committed)
    })

    it('F15: what the work throws reaches the caller as the same object, and nothing is written', async () => {
      const reason = new Error('not today')
      const error = await failureOf(
        prisma.$fenced('a', async (tx) => {
          await withdraw(tx)
          throw reason
        }),
      )
      expect(error).toBe(reason)
      expect(await database.balance('a')).toBe(100)
    })

    it('F15: a signal while the section waits for a connection ends it and holds none', async () => {
      const controller = new AbortController()
      const reason = new Error('enough')
      const waiting = await prisma.$transaction(async (tx) => {
        await tx.$queryRaw`SELECT 1`
        const section = failureOf(prisma.$fenced('a', { signal: controller.signal }, withdraw))
        controller.abort(reason)
        return await section
      })
      expect(waiting).toBe(reason)
      expect(await database.balance('a')).toBe(100)
      expect(await prisma.$fenced('a', () => 'free')).toBe('free')
    })

    it('fault 14: Prisma’s own timeout of 5 s does not end a section whose lease is longer', async () => {
      await prisma.$fenced('a', async (tx) => {
        await tx.$executeRaw`SELECT pg_sleep(5.5)`
        await withdraw(tx)
      })
      expect(await database.balance('a')).toBe(90)
    })

    it('F1, F4: a section whose lease ends inside is rolled back and says so', async () => {
      broker.leaseSeconds = 1
      const error = await failureOf(
        prisma.$fenced('a', { minWork: 0 }, async (tx, ticket) => {
          await withdraw(tx)
          await new Promise((resolve) => ticket.signal.addEventListener('abort', resolve))
          await withdraw(tx)
        }),
      ).finally(() => {
        broker.leaseSeconds = undefined
      })
      expect(error.code).toBe('FENCE_LEASE_EXPIRED')
      expect(await database.balance('a')).toBe(100)
    })

    it('fault 16: the ticket is released after the transaction has ended', async () => {
      broker.log.length = 0
      await prisma.$fenced('a', async (tx) => {
        await withdraw(tx)
        broker.log.push('worked')
      })
      expect(broker.log).toEqual(['acquire a', 'worked', 'release a'])
    })

    it('F5, fault 24: a serialisation failure of the work is run again with retries', async () => {
      let runs = 0
      await prisma.$fenced('a', { isolation: 'serializable', retries: 2 }, async (tx) => {
        runs++
        const account = await tx.account.findUniqueOrThrow({ where: { id: 'a' } })
        if (runs === 1) await database.admin.query("UPDATE account SET balance = 50 WHERE id = 'a'")
        await tx.account.update({ where: { id: 'a' }, data: { balance: account.balance - 10 } })
      })
      expect(runs).toBe(2)
      expect(await database.balance('a')).toBe(40)
    })

    it('F1: a section on the client of a transaction is refused, before anything is acquired', async () => {
      broker.log.length = 0
      await prisma.$transaction(async (tx) => {
        expect(await failureOf(tx.$fenced('a', withdraw))).toMatchObject({ code: 'FENCE_INVALID_ARGUMENT' })
        expect(() => tx.$fence()).toThrow(/interactive transaction/)
        await withdraw(tx)
      })
      expect(broker.log).toEqual([])
      expect(await database.balance('a')).toBe(90)
    })

    it('F1, F3: a lease that ends while sections wait for a connection is what ends them, not a timeout of Prisma', async () => {
      broker.leaseSeconds = 1
      const keys = Array.from({ length: 20 }, (_, index) => `waiting-${index}`)
      await prisma.$transaction(async (tx) => {
        await tx.$queryRaw`SELECT 1`
        const errors = await Promise.all(keys.map((key) => failureOf(prisma.$fenced(key, { minWork: 0 }, withdraw))))
        expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['FENCE_LEASE_EXPIRED']))
      })
      broker.leaseSeconds = undefined
    })

    it('F1: runWith and claim work with a ticket of one’s own', async () => {
      const ticket = await broker.acquire('own', defaults)
      await prisma.$fence().runWith(ticket, withdraw)
      const other = await broker.acquire('claimed', defaults)
      await prisma.$transaction(async (tx) => {
        await prisma.$fence().claim(tx, other)
        await withdraw(tx)
      })
      expect(await database.balance('a')).toBe(80)
      const stale = await failureOf(
        prisma.$transaction(async (tx) => {
          await prisma.$fence().claim(tx, other)
        }),
      )
      expect(stale.code).toBe('FENCE_STALE_TOKEN')
      const outside = await failureOf(prisma.$fence().claim(prisma, await broker.acquire('x', defaults)))
      expect(outside.code).toBe('FENCE_INVALID_ARGUMENT')
    })
  })

  it('fault 5: other extensions are in tx, and what they run goes through the transaction', async () => {
    await using database = await PrismaDatabase.create(target)
    const prisma = database
      .client(true)
      .$extends({ client: { $before: () => 'before' } })
      .$extends(prismaFence({ broker: new ScriptedBroker(), defaults }))
      .$extends({
        model: {
          account: {
            async deposit(id: string, amount: number) {
              const { Prisma } = await import('@prisma/client/extension')
              const context = Prisma.getExtensionContext(this) as unknown as Tx['account']
              return await context.update({ where: { id }, data: { balance: { increment: amount } } })
            },
          },
        },
      })
    await prisma.$fence().migrate()
    await database.admin.query("INSERT INTO account VALUES ('a', 100)")
    const reason = new Error('back')
    const error = await failureOf(
      prisma.$fenced('a', async (tx) => {
        expect(tx.$before()).toBe('before')
        await tx.account.deposit('a', 5)
        throw reason
      }),
    )
    expect(error).toBe(reason)
    expect(await database.balance('a')).toBe(100)
  })

  it('fault 5: a query of the base client inside a section is warned of, once', async () => {
    await using database = await PrismaDatabase.create(target)
    const warnings: object[] = []
    const logger = { warn: (details: object) => void warnings.push(details) }
    const client = database.client(true, 2)
    const prisma = client.$extends(prismaFence({ broker: new ScriptedBroker(), defaults, logger }))
    await prisma.$fence().migrate()
    await prisma.$fenced('a', async (tx) => {
      await prisma.account.count()
      await prisma.account.count()
      await tx.account.count()
    })
    await prisma.account.count()
    expect(warnings).toEqual([{ event: 'outside-section', operation: 'Account.count' }])
  })

  it('does not prepare a claim that Prisma’s comments make another one each time', async () => {
    await using database = await PrismaDatabase.create(target)
    let traces = 0
    const client = database.client(true, 1, { comments: [() => ({ trace: String(traces++) })] })
    const prisma = client.$extends(prismaFence({ broker: new ScriptedBroker(), defaults }))
    await prisma.$fence().migrate()
    for (const key of ['a', 'b', 'c']) await prisma.$fenced(key, () => undefined)
    expect(traces).toBeGreaterThan(2)
    expect(await prisma.$queryRaw`SELECT name FROM pg_prepared_statements`).toEqual([])
  })

  it('refuses bad options and other adapters before anything is sent', async () => {
    expect(() => prismaFence({} as never)).toThrow(FenceError)
    expect(() => prismaFence({ broker: new ScriptedBroker(), defaults: { lease: 0 } })).toThrow(/lease/)
  })
})
