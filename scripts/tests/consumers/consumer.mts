// An application that is an ES module. Compiled under nodenext and bundler, and run.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { PrismaPg } from '@prisma/adapter-pg'
import { TicketBroker } from '@ticketing/client'
import { FenceError, StaleTokenError } from '@ticketing/core'
import { knexFence } from '@ticketing/knex'
import { pgFence } from '@ticketing/pg'
import { fenceAdapter, prismaFence } from '@ticketing/prisma'
import { fakeBroker } from '@ticketing/testing'
import { Fenced, fencedManager, typeormFence } from '@ticketing/typeorm'
import knex from 'knex'
import pg from 'pg'
import { DataSource } from 'typeorm'
import { PrismaClient } from './generated/client.js'

const broker = fakeBroker()
const defaults = { wait: 5, lease: '30s', minWork: '500ms' } as const

const byPg = pgFence(new pg.Pool(), { broker, defaults })
const byKnex = knexFence(knex({ client: 'pg' }), { broker, defaults })
const byTypeorm = typeormFence(new DataSource({ type: 'postgres' }), { broker, defaults, name: 'esm' })
const adapter = fenceAdapter(new PrismaPg({ connectionString: 'postgresql://127.0.0.1:1/none' }))
const byPrisma = new PrismaClient({ adapter }).$extends(prismaFence({ broker, defaults }))

class Payouts {
  @Fenced({ key: (account: string) => `account:${account}`, fence: 'esm', ...defaults })
  async pay(account: string, amount: number): Promise<string> {
    await fencedManager().query('SELECT 1')
    return `${account} ${amount}`
  }
}

// Types only: nothing listens anywhere.
export const sections = [
  (): Promise<number | null> => byPg.run('a', async (tx) => (await tx.query<{ n: number }>('SELECT 1 AS n')).rowCount),
  (): Promise<number> => byKnex.run('a', (trx) => trx('account').where({ id: 1 }).decrement('balance', 10)),
  (): Promise<string> => byTypeorm.run('a', async (manager) => (await manager.query<string>('SELECT 1')) ?? ''),
  (): Promise<number> =>
    byPrisma.$fenced('a', (tx, ticket) => tx.account.count({ where: { id: String(ticket.token) } })),
  (): Promise<string> => new Payouts().pay('a', 1),
]
export const connect: (address: string) => TicketBroker = TicketBroker.connect

// The same errors by both module systems.
const commonjs = createRequire(import.meta.url)('@ticketing/core') as typeof import('@ticketing/core')
assert.notEqual(commonjs.FenceError, FenceError)
assert.ok(new commonjs.StaleTokenError('a', 1n, 2n) instanceof StaleTokenError)
await assert.rejects(
  byPg.run('', () => undefined),
  FenceError,
)
await assert.rejects(new Payouts().pay('a b', 1), (error: FenceError) => error.code === 'FENCE_INVALID_ARGUMENT')
console.log('the ES module ran')
