import { invalidArgument } from '@ticketing/core'

/** What a section's client has not: connections, transactions and sections are the section's own business. */
const withheld = ['$transaction', '$fenced', '$fence', '$connect', '$disconnect', '$extends', '$on', '$use'] as const

/** The client that a section's work gets: its models, its raw queries, and what other extensions add. */
export type SectionClient<Client> = Omit<Client, (typeof withheld)[number]>

/**
 * The transaction's client without what would leave the section. A refused statement is refused where it is made, too:
 * Prisma would send it only when it is awaited.
 */
export function sectionClient<Tx extends object>(tx: Tx, verdict: () => Error | undefined): Tx {
  return new Proxy(tx, {
    get(client, name) {
      if ((withheld as readonly unknown[]).includes(name)) return refuse(String(name))
      const refused = typeof name === 'string' && name !== 'then' ? verdict() : undefined
      if (refused !== undefined) throw refused
      return Reflect.get(client, name, client) as unknown
    },
  })
}

function refuse(name: string): () => never {
  return () => {
    throw invalidArgument(
      `tx.${name}`,
      'is not for use inside a section, whose transaction is one; a raw SAVEPOINT is allowed, and several keys belong ' +
        'to one section',
    )
  }
}
