/** A message of a PostgreSQL client, and the statement that it runs, if it runs one. */
export interface FrontendMessage {
  readonly bytes: Buffer
  readonly statement: string | undefined
}

const lengthBytes = 4
const typeBytes = 1

/** Cuts what a client sends into its messages, and finds the text of each statement that is run. */
export class FrontendMessages {
  #buffer = Buffer.alloc(0)
  /** The first message has no type. */
  #started = false
  /** The texts of the prepared statements, by name; the unnamed one among them. */
  readonly #prepared = new Map<string, string>()

  /** @returns the messages that are complete with this chunk. */
  take(chunk: Buffer): FrontendMessage[] {
    this.#buffer = Buffer.concat([this.#buffer, chunk])
    const messages: FrontendMessage[] = []
    for (;;) {
      const head = this.#started ? typeBytes : 0
      if (this.#buffer.length < head + lengthBytes) return messages
      const length = head + this.#buffer.readUInt32BE(head)
      if (this.#buffer.length < length) return messages
      const bytes = this.#buffer.subarray(0, length)
      this.#buffer = this.#buffer.subarray(length)
      messages.push({ bytes, statement: this.#started ? this.#statementOf(bytes) : undefined })
      this.#started = true
    }
  }

  /** Query carries its text. Parse gives one to a name, and Bind runs the statement of that name. */
  #statementOf(bytes: Buffer): string | undefined {
    const type = String.fromCharCode(bytes[0] ?? 0)
    const [first = '', second = ''] = bytes
      .subarray(typeBytes + lengthBytes)
      .toString('utf8')
      .split('\0', 2)
    if (type === 'Q') return first
    if (type === 'B') return this.#prepared.get(second)
    if (type === 'P') this.#prepared.set(first, second)
    return undefined
  }
}
