import type { FenceError } from '@ticketing/core'
import type { EntityManager } from 'typeorm'
import { expect } from 'vitest'

/** What the promise rejects with; its success is a failure of the test. */
export async function failureOf(promise: Promise<unknown>): Promise<FenceError & { cause: unknown }> {
  try {
    await promise
  } catch (error) {
    return error as FenceError & { cause: unknown }
  }
  return expect.unreachable('it reported success')
}

/** The server process behind a manager's connection. */
export async function pidOf(manager: EntityManager): Promise<number> {
  const [row] = await manager.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid')
  return row?.pid as number
}
