import type { Broker } from '@ticketing/client'
import type { SectionTicket } from '@ticketing/core'
import pg from 'pg'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { type PgResult, type PgTransaction, pgFence } from '../src/index.js'
import { noBroker } from './support/test-bed.js'

/** Checked by the compiler: `tsc` reads the tests as well. Nothing here connects. */
describe('the types of pgFence', () => {
  const broker: Broker = noBroker
  const options = { wait: 1, lease: 10, minWork: 1 } as const
  const fence = pgFence(new pg.Pool(), { broker })

  it('take the Pool of @types/pg, and a class of its own made from it', () => {
    class TracedPool extends pg.Pool {}
    expectTypeOf(pgFence(new TracedPool(), { broker })).toEqualTypeOf(fence)
    // @ts-expect-error A broker is required.
    void (() => pgFence(new pg.Pool(), {}))
    // @ts-expect-error There is no such option.
    void (() => pgFence(new pg.Pool(), { broker, tabel: 'fence' }))
  })

  it('carry the result of the work, awaited once', () => {
    expectTypeOf(() => fence.run('k', options, () => 7)).returns.toEqualTypeOf<Promise<number>>()
    expectTypeOf(() => fence.run(['a', 'b'], options, async () => 'text')).returns.toEqualTypeOf<Promise<string>>()
    expectTypeOf(() => fence.run('k', options, async () => undefined)).returns.toEqualTypeOf<Promise<undefined>>()
    void (() =>
      fence.run('k', options, (tx, ticket) => {
        expectTypeOf(tx).toEqualTypeOf<PgTransaction>()
        expectTypeOf(ticket).toEqualTypeOf<SectionTicket>()
        expectTypeOf(ticket.token).toEqualTypeOf<bigint>()
        expectTypeOf(ticket.tokenOf('k')).toEqualTypeOf<bigint | undefined>()
      }))
  })

  it('type the rows of a statement', () => {
    const tx = {} as PgTransaction
    expectTypeOf(tx.query<{ balance: string }>).returns.resolves.toEqualTypeOf<PgResult<{ balance: string }>>()
    expectTypeOf(() => tx.query('SELECT 1')).returns.resolves.toEqualTypeOf<PgResult>()
    expectTypeOf<PgResult['rows'][number]>().toEqualTypeOf<Record<string, unknown>>()
    expectTypeOf<{ text: string; values: number[]; name: string }>().toExtend<Parameters<typeof tx.query>[0]>()
    // @ts-expect-error No callbacks inside a section.
    void (() => tx.query('SELECT 1', [], () => undefined))
  })

  it('require the times that the defaults do not give', () => {
    const partly = pgFence(new pg.Pool(), { broker, defaults: { lease: 10 } })
    const wholly = pgFence(new pg.Pool(), { broker, defaults: options })
    void (() => partly.run('k', { wait: '500ms', minWork: 0 }, () => 1))
    void (() => partly.run('k', { wait: '500ms', minWork: 0, lease: '5s' }, () => 1))
    void (() => wholly.run('k', () => 1))
    void (() => wholly.run('k', { wait: 2 }, () => 1))
    void (() => wholly.run('k', {}, () => 1))
    // @ts-expect-error minWork is missing.
    void (() => partly.run('k', { wait: 1 }, () => 1))
    // @ts-expect-error Without options the defaults must give all three times.
    void (() => partly.run('k', () => 1))
    // @ts-expect-error Without defaults all three times are required.
    void (() => fence.run('k', { wait: 1, lease: 10 }, () => 1))
    // @ts-expect-error Without defaults options are required.
    void (() => fence.run('k', () => 1))
    expectTypeOf(() => wholly.run('k', () => 1)).returns.toEqualTypeOf<Promise<number>>()
  })

  it('know the isolation levels, the units of a time, and the events', () => {
    void (() => fence.run('k', { ...options, isolation: 'serializable', retries: 3 }, () => 1))
    // @ts-expect-error No such isolation level.
    void (() => fence.run('k', { ...options, isolation: 'snapshot' }, () => 1))
    // @ts-expect-error Minutes are no unit of ours.
    void (() => fence.run('k', { ...options, wait: '5m' }, () => 1))
    fence.on('retry', (event) => expectTypeOf(event.of).toEqualTypeOf<'claim' | 'work'>())
    fence.on('release-failed', (event) => expectTypeOf(event.token).toEqualTypeOf<bigint>())
    // @ts-expect-error No such event.
    expect(() => fence.on('retried', () => undefined)).toThrow(/event: must be one of release-failed, retry/)
  })
})
