import { setTimeout as delay } from 'node:timers/promises'
import type { Broker, Ticket } from '@ticketing/client'
import { StaleTokenError } from '@ticketing/core'
import type pg from 'pg'
import { codeOf, describe } from './demo-error.js'
import { serveParent } from './served-process.js'
import { type RunSettings, stallTimes } from './settings.js'
import { openSurroundings, sectionsFor } from './surroundings.js'
import { keysOf, type Order, type Pauses, transfer } from './transfer.js'

/**
 * Where a holder is stopped:
 * - `before-begin`: after the last check of its lease, before a byte of BEGIN has left its process;
 * - `in-transaction`: after its reads and a write, late in its lease;
 * - `after-read`: after its reads, before it writes (without the fence).
 */
export type StopPoint = 'before-begin' | 'in-transaction' | 'after-read'

export interface HolderTask {
  readonly settings: RunSettings
  readonly order: Order
  readonly stopPoint: StopPoint
}

export type HolderReport = HolderGranted | HolderStopped | HolderEnded

/** Times are Unix milliseconds of this machine's clock. */
export interface HolderGranted {
  readonly type: 'granted'
  readonly at: number
  /** When the lease is certainly over. */
  readonly leaseEndsAt: number
  readonly tokens: ReadonlyMap<string, bigint>
  /** The process id of its database session. */
  readonly backendId: number
}

export interface HolderStopped {
  readonly type: 'stopped'
  readonly at: number
}

export interface HolderEnded {
  readonly type: 'ended'
  readonly at: number
  /** How long the process really stood still. */
  readonly stoppedMilliseconds: number
  /** Undefined if its section reported success. */
  readonly refusal: Refusal | undefined
}

export interface Refusal {
  readonly code: string
  /** The error's message, and its cause's. */
  readonly message: string
  /** For a stale token: what the database compared. */
  readonly stale?: { readonly key: string; readonly token: bigint; readonly highWater: bigint }
}

/** Seconds of the lease that are left when a holder stops in the middle of its transaction. */
const lateSeconds = 0.5

serveParent<HolderTask, HolderReport>(async ({ settings, order, stopPoint }, report) => {
  await using surroundings = openSurroundings(settings, 1)
  const { pool } = surroundings
  // Its one connection is there before the lock is: then the next thing that it writes is BEGIN.
  const { rows } = await pool.query<{ id: number }>('SELECT pg_backend_pid() AS id')
  const backendId = rows[0]?.id ?? 0

  const tickets: Ticket[] = []
  const broker = watched(surroundings.broker, (ticket) => {
    tickets.push(ticket)
    if (tickets.length < 2) return
    const tokens = new Map(tickets.map(({ key, token }) => [key, token]))
    const at = Date.now()
    report({ type: 'granted', at, leaseEndsAt: at + remaining(tickets) * 1000, tokens, backendId })
  })

  let stoppedMilliseconds = 0
  const stop = () => {
    const at = Date.now()
    report({ type: 'stopped', at })
    // The whole process stands still in this call, until somebody sends SIGCONT.
    process.kill(process.pid, 'SIGSTOP')
    stoppedMilliseconds = Date.now() - at
  }
  if (stopPoint === 'before-begin') stopAtNextWrite(pool, stop)
  const pauses: Record<StopPoint, Pauses> = {
    'before-begin': {},
    'in-transaction': {
      afterFirstWrite: async () => {
        await delay(Math.max(0, remaining(tickets) - lateSeconds) * 1000)
        stop()
      },
    },
    'after-read': { afterRead: async () => stop() },
  }

  const section = sectionsFor(settings, pool, broker, stallTimes)
  let refusal: Refusal | undefined
  try {
    await section(keysOf(order), (tx, tokenOf) => transfer(tx, order, tokenOf, pauses[stopPoint]))
  } catch (error) {
    refusal = refusalOf(error)
  }
  report({ type: 'ended', at: Date.now(), stoppedMilliseconds, refusal })
})

/** A broker that shows each ticket it hands out: a holder that never gets into its work could not tell its token. */
function watched(broker: Broker, onGranted: (ticket: Ticket) => void): Broker {
  return {
    acquire: async (key, options) => {
      const ticket = await broker.acquire(key, options)
      onGranted(ticket)
      return ticket
    },
  }
}

/** The socket of a connection, which node-postgres' types do not show. */
interface Writer {
  write: (...args: unknown[]) => boolean
}

/** Stops at the next thing that the pool's connection writes once it is taken out, before a byte of it has left. */
function stopAtNextWrite(pool: pg.Pool, stop: () => void): void {
  pool.once('acquire', (client) => {
    const { stream } = (client as unknown as { connection: { stream: Writer } }).connection
    const write = stream.write
    stream.write = (...args: unknown[]) => {
      stream.write = write
      stop()
      return Reflect.apply(write, stream, args)
    }
  })
}

function remaining(tickets: readonly Ticket[]): number {
  return Math.min(...tickets.map((ticket) => ticket.remaining()))
}

function refusalOf(error: unknown): Refusal {
  const { cause } = error as { cause?: unknown }
  const message = cause === undefined ? describe(error) : `${describe(error)} Its cause: ${describe(cause)}`
  const refusal = { code: codeOf(error) ?? 'an error without a code', message }
  if (!(error instanceof StaleTokenError)) return refusal
  const { key, token, highWater } = error
  return { ...refusal, stale: { key, token, highWater } }
}
