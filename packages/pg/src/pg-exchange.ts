import type { SqlRow, SqlStatement } from '@ticketing/core'
import type { PgClient, PgSubmittable, PgWire } from './pg-driver.js'

/** A statement of the fence; a name lets the server keep its plan instead of planning it anew each time. */
export interface FenceStatement extends SqlStatement {
  readonly name?: string | undefined
}

// The names that the server of a connection knows. Kept here, since pg notes one name for each query object only.
const preparedNames = new WeakMap<PgWire, Set<string>>()

function preparedOn(wire: PgWire): Set<string> {
  const known = preparedNames.get(wire)
  if (known !== undefined) return known
  const names = new Set<string>()
  preparedNames.set(wire, names)
  // The application may make the server forget them, also inside a section, where a failed statement would abort it.
  wire.on('commandComplete', ({ text }: { text: string }) => {
    if (text === 'DISCARD ALL' || text === 'DEALLOCATE ALL') names.clear()
  })
  return names
}

/** The server has forgotten this connection's prepared statements, or it was another server. */
export function forgetPrepared(client: PgClient): void {
  preparedOn(client.connection).clear()
}

/** What goes on around an exchange. */
export interface ExchangeHooks {
  /** The Sync is written; one ReadyForQuery will answer it. */
  readonly onSent: () => void
  /** Writes more messages into the same chunk, behind this exchange's Sync. */
  readonly behind?: ((wire: PgWire) => void) | undefined
}

/**
 * Sends statements in one chunk under one Sync, so that an error in one skips all behind it, and answers the rows of the
 * last: BEGIN, bounds and claim cost one round trip, and a claim never runs outside the transaction it belongs to.
 */
export function exchange(
  client: PgClient,
  statements: readonly FenceStatement[],
  hooks: ExchangeHooks,
): Promise<readonly SqlRow[]> {
  return new Promise((resolve, reject) => {
    client.query(new Exchange(statements, hooks, resolve, reject))
  })
}

class Exchange implements PgSubmittable {
  readonly #statements: readonly FenceStatement[]
  readonly #hooks: ExchangeHooks
  readonly #resolve: (rows: readonly SqlRow[]) => void
  readonly #reject: (error: Error) => void
  #columns: readonly string[] = []
  #rows: SqlRow[] = []
  #stop: () => void = () => undefined
  /** node-postgres wraps it to clear its read timer. */
  callback: ((error: Error | null, result?: unknown) => void) | undefined

  constructor(
    statements: readonly FenceStatement[],
    hooks: ExchangeHooks,
    resolve: (rows: readonly SqlRow[]) => void,
    reject: (error: Error) => void,
  ) {
    this.#statements = statements
    this.#hooks = hooks
    this.#resolve = resolve
    this.#reject = reject
    this.callback = (error) => this.#settle(error)
  }

  submit(wire: PgWire): null {
    const prepared = preparedOn(wire)
    const parsing: (string | undefined)[] = []
    const onParsed = () => {
      const name = parsing.shift()
      if (name !== undefined) prepared.add(name)
    }
    wire.on('parseComplete', onParsed)
    this.#stop = () => wire.off('parseComplete', onParsed)
    inOneWrite(wire, (gathered) => {
      for (const { text, values, name } of this.#statements) {
        if (name === undefined || !prepared.has(name)) {
          gathered.parse({ text, name: name ?? '' })
          parsing.push(name)
        }
        gathered.bind({ statement: name ?? '', values, valueMapper: bindText })
        gathered.describe({ type: 'P', name: '' })
        gathered.execute({})
      }
      gathered.sync()
      this.#hooks.onSent()
      this.#hooks.behind?.(gathered)
    })
    return null
  }

  handleRowDescription(message: { fields: readonly { name: string }[] }): void {
    this.#columns = message.fields.map((field) => field.name)
  }

  handleDataRow(message: { fields: readonly (string | null)[] }): void {
    this.#rows.push(Object.fromEntries(this.#columns.map((name, index) => [name, message.fields[index] ?? null])))
  }

  handleCommandComplete(message: { text: string }): void {
    // Only the last statement's rows are asked for; those before it have none that matter.
    if (/^(BEGIN|SET)/.test(message.text)) this.#rows = []
  }

  handleError(error: Error): void {
    this.callback?.(error)
  }

  handleReadyForQuery(): void {
    this.callback?.(null)
  }

  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}

  #settle(error: Error | null | undefined): void {
    this.#stop()
    if (error) this.#reject(error)
    else this.#resolve(this.#rows)
  }
}

/**
 * Lets node-postgres serialise its messages into one buffer and writes that. A write of one buffer costs less than half
 * of a vectored write of eight, which is what cork and uncork come to, and the write is most of a section's own time.
 */
function inOneWrite(wire: PgWire, serialise: (gathered: PgWire) => void): void {
  const parts: Uint8Array[] = []
  const stream = { writable: wire.stream.writable, write: (part: Uint8Array) => parts.push(part) }
  serialise(Object.create(wire, { stream: { value: stream } }) as PgWire)
  if (parts.length > 0) wire.stream.write(Buffer.concat(parts))
}

/** Lists of text as PostgreSQL array literals; everything else is text already. */
function bindText(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  return `{${value.map((item) => `"${String(item).replace(/["\\]/g, '\\$&')}"`).join(',')}}`
}
