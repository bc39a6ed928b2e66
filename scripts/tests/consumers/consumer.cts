// An application that is CommonJS. Compiled under nodenext, and run.
import assert = require('node:assert/strict')
import client = require('@ticketing/client')
import core = require('@ticketing/core')
import knexAdapter = require('@ticketing/knex')
import pgAdapter = require('@ticketing/pg')
import prismaAdapter = require('@ticketing/prisma')
import testing = require('@ticketing/testing')
import typeormAdapter = require('@ticketing/typeorm')
import knex = require('knex')
import pg = require('pg')
import typeorm = require('typeorm')

const broker: client.Broker = testing.fakeBroker()
const defaults = { wait: 5, lease: 30, minWork: 2 } as const

const byPg = pgAdapter.pgFence(new pg.Pool(), { broker, defaults })
const byKnex = knexAdapter.knexFence(knex.knex({ client: 'pg' }), { broker, defaults })
const byTypeorm = typeormAdapter.typeormFence(new typeorm.DataSource({ type: 'postgres' }), { broker, defaults })
const byPrisma = prismaAdapter.prismaFence({ broker, defaults })

class Payouts {
  @typeormAdapter.Fenced({ key: (account: string) => `account:${account}` })
  async pay(account: string): Promise<string> {
    return account
  }
}

export = [
  (): Promise<void> => byPg.run('a', async (tx) => void (await tx.query('SELECT 1'))),
  (): Promise<void> => byKnex.run('a', async (trx) => void (await trx.raw('SELECT 1'))),
  (): Promise<void> => byTypeorm.run('a', async (manager) => void (await manager.query('SELECT 1'))),
  byPrisma,
]

async function main(): Promise<void> {
  await assert.rejects(
    byKnex.run('', () => undefined),
    core.FenceError,
  )
  await assert.rejects(new Payouts().pay('a b'), (error: core.FenceError) => error.code === 'FENCE_INVALID_ARGUMENT')
  console.log('the CommonJS module ran')
}
void main()
