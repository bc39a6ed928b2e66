import { EventEmitter } from 'node:events'
import { afterEach, expect, it, vi } from 'vitest'
import { fenceAdapter } from '../src/index.js'
import { transactionId } from '../src/prisma-client.js'

afterEach(() => void vi.useRealTimers())

it('F13: a connection whose BEGIN is not answered is destroyed, and no listener stays on it', async () => {
  vi.useFakeTimers()
  const connection = Object.assign(new EventEmitter(), {
    connection: new EventEmitter(),
    query: () => new Promise(() => undefined),
    release: vi.fn(),
  })
  const factory = {
    provider: 'postgres',
    adapterName: 'silent',
    connect: async () => ({
      client: { connect: async () => connection },
      startTransaction: () => connection.query(),
    }),
  }
  const adapter = (await fenceAdapter(factory).connect()) as { startTransaction(): Promise<unknown> }
  const begun = expect(adapter.startTransaction()).rejects.toThrow('BEGIN was not answered within 5 s.')
  await vi.advanceTimersByTimeAsync(5_000)
  await begun
  expect(connection.release.mock.calls).toEqual([[true]])
  expect([...connection.eventNames(), ...connection.connection.eventNames()]).toEqual([])
})

it('finds the transaction of a client of Prisma from before its transactions could be nested', () => {
  expect(transactionId({ [Symbol.for('prisma.client.transaction.id')]: 'one' })).toBe('one')
  expect(transactionId({})).toBeUndefined()
})
