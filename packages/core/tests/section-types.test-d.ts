/** What the compiler must accept and must refuse. Checked by `tsc`, never run. */

import type { Broker, Ticket } from '@ticketing/client'
import { expectTypeOf } from 'vitest'
import { createFence, type SectionTicket, type TransactionHost } from '../src/index.js'

interface Handle {
  query(text: string): Promise<number>
}

declare const host: TransactionHost<Handle>
declare const broker: Broker

const full = createFence(host, { broker, defaults: { wait: 5, lease: '30s', minWork: '500ms' } })
const partial = createFence(host, { broker, defaults: { wait: 5, isolation: 'serializable' } })
const bare = createFence(host, { broker })
const work = (tx: Handle) => tx.query('SELECT 1')

// With full defaults, options may be left out, or given in part.
expectTypeOf(full.run('a', work)).toEqualTypeOf<Promise<number>>()
expectTypeOf(full.run(['a', 'b'], { retries: 2 }, work)).toEqualTypeOf<Promise<number>>()
expectTypeOf(full.run('a', { lease: 60 }, work)).toEqualTypeOf<Promise<number>>()

// Without defaults, wait, lease and minWork are required.
expectTypeOf(bare.run('a', { wait: 0, lease: 1, minWork: 0 }, work)).toEqualTypeOf<Promise<number>>()
// @ts-expect-error -- no options
void bare.run('a', work)
// @ts-expect-error -- no minWork
void bare.run('a', { wait: 0, lease: 1 }, work)
// @ts-expect-error -- no wait
void bare.run('a', { lease: 1, minWork: 0 }, work)

// Partial defaults require the rest.
expectTypeOf(partial.run('a', { lease: 30, minWork: 1 }, work)).toEqualTypeOf<Promise<number>>()
// @ts-expect-error -- lease and minWork are missing
void partial.run('a', work)
// @ts-expect-error -- minWork is missing
void partial.run('a', { lease: 30 }, work)

// The result is the work's, awaited.
expectTypeOf(full.run('a', () => 'text')).toEqualTypeOf<Promise<string>>()
expectTypeOf(full.run('a', async () => ({ balance: 1 }))).toEqualTypeOf<Promise<{ balance: number }>>()
expectTypeOf(full.run('a', () => undefined)).toEqualTypeOf<Promise<undefined>>()
expectTypeOf(full.run('a', { wait: 0 }, () => Promise.resolve(1n))).toEqualTypeOf<Promise<bigint>>()

// The work gets the host's handle and the section's ticket.
void full.run('a', (tx, ticket) => {
  expectTypeOf(tx).toEqualTypeOf<Handle>()
  expectTypeOf(ticket).toEqualTypeOf<SectionTicket>()
  expectTypeOf(ticket.token).toEqualTypeOf<bigint>()
  expectTypeOf(ticket.tokenOf('b')).toEqualTypeOf<bigint | undefined>()
})

// With tickets of one's own nothing needs to be given, and nothing about the acquire can be.
declare const ticket: Ticket
expectTypeOf(bare.runWith(ticket, work)).toEqualTypeOf<Promise<number>>()
expectTypeOf(bare.runWith([ticket, ticket], { minWork: 1, retries: 2 }, work)).toEqualTypeOf<Promise<number>>()
// @ts-expect-error -- a wait is for an acquire
void bare.runWith(ticket, { wait: 1 }, work)
// @ts-expect-error -- a key is not a ticket
void bare.runWith('a', work)

// A claim takes what a caller's own transaction is in the library.
interface CallerTransaction {
  readonly own: true
}
declare const callerHost: TransactionHost<Handle, CallerTransaction>
declare const callerTransaction: CallerTransaction
const withCaller = createFence(callerHost, { broker })
expectTypeOf(withCaller.claim(callerTransaction, ticket)).toEqualTypeOf<Promise<void>>()
// @ts-expect-error -- the section's handle is no transaction of the caller
void withCaller.claim({} as Handle, ticket)

// @ts-expect-error -- an unknown option
void full.run('a', { minwork: 1 }, work)
// @ts-expect-error -- a time without a unit
void full.run('a', { wait: '5' }, work)
// @ts-expect-error -- an isolation level of another database
void full.run('a', { isolation: 'snapshot' }, work)
// @ts-expect-error -- a key that is a number
void full.run(42, work)
// @ts-expect-error -- a signal is a call's, not a default
createFence(host, { broker, defaults: { signal: new AbortController().signal } })
// @ts-expect-error -- a fence needs a broker
createFence(host, {})

// Events are typed by their name.
full.on('retry', (event) => {
  expectTypeOf(event.of).toEqualTypeOf<'claim' | 'work'>()
  expectTypeOf(event.attempt).toEqualTypeOf<number>()
})
full.on('release-failed', ({ token }) => expectTypeOf(token).toEqualTypeOf<bigint>())
// @ts-expect-error -- no such event
full.on('released', () => undefined)
