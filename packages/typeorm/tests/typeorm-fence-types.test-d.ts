/** What the compiler must accept and must refuse. Checked by `tsc`, never run. */

import type { Broker, Ticket } from '@ticketing/client'
import type { SectionTicket } from '@ticketing/core'
import type { DataSource, EntityManager, EntitySchema, Repository } from 'typeorm'
import { expectTypeOf } from 'vitest'
import { FenceMigration, fencedManager, fencedRepository, fencedTicket, typeormFence } from '../src/index.js'

interface Account {
  id: string
  balance: number
}

declare const dataSource: DataSource
declare const broker: Broker
declare const ticket: Ticket
declare const accounts: EntitySchema<Account>

const full = typeormFence(dataSource, { broker, defaults: { wait: 5, lease: '30s', minWork: 2 } })
const bare = typeormFence(dataSource, { broker, name: 'second', table: 'app.fence' })

// The work gets an EntityManager and the ticket; the result is the work's, awaited.
expectTypeOf(full.run('a', async (manager) => manager.findOneByOrFail(accounts, { id: 'a' }))).toEqualTypeOf<
  Promise<Account>
>()
void full.run(['a', 'b'], (manager, ticket) => {
  expectTypeOf(manager).toEqualTypeOf<EntityManager>()
  expectTypeOf(ticket).toEqualTypeOf<SectionTicket>()
})
void bare.run('a', { wait: 0, lease: 1, minWork: 0 }, () => undefined)
// @ts-expect-error -- no options, and no defaults
void bare.run('a', () => undefined)
// @ts-expect-error -- an unknown option
typeormFence(dataSource, { broker, nane: 'second' })

void full.runWith(ticket, (manager) => manager.query('SELECT 1'))
void dataSource.transaction((manager) => full.claim(manager, ticket))
// @ts-expect-error -- a DataSource is no transaction
void full.claim(dataSource, ticket)

expectTypeOf(full.outside(() => dataSource.query<number>('SELECT 1'))).toEqualTypeOf<Promise<number>>()
expectTypeOf(fencedManager()).toEqualTypeOf<EntityManager>()
expectTypeOf(fencedRepository(accounts, 'second')).toEqualTypeOf<Repository<Account>>()
expectTypeOf(fencedTicket().token).toEqualTypeOf<bigint>()

export class InOurSchema extends FenceMigration {
  override readonly table = 'app.fence'
}
