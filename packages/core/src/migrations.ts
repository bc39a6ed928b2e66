import type { Dialect, FenceTables } from './dialects/dialect.js'
import { schemaTooNew } from './high-water.js'
import { schemaVersion, schemaVersionBreaking } from './schema-version.js'
import type { HostTransaction, TransactionHost } from './transaction-host.js'

/**
 * Brings the fence's tables to this package's schema. Any number of processes may call it at once: one creates, the
 * others wait for it and find the work done. Where nothing is to be done it only reads, so that a role without the right
 * to create tables may call it too.
 *
 * @throws {FenceError} `FENCE_SCHEMA_TOO_NEW` where a newer version made tables that this one must not write to.
 */
export async function migrate(
  host: TransactionHost<unknown, unknown>,
  tables: FenceTables,
  onConnectionDestroyed: (error: unknown) => void,
): Promise<void> {
  const { migration } = host.dialect
  await host.transaction(
    {
      isolation: 'read committed',
      connecting: (connection) => connection,
      remainingMilliseconds: undefined,
      onConnectionDestroyed,
    },
    async (tx) => {
      try {
        if (await isCurrent(tx, host.dialect, tables)) return
        await tx.query(migration.lock(tables))
        if (await isCurrent(tx, host.dialect, tables)) return
        for (const statement of migration.create(tables)) await tx.query(statement)
      } finally {
        await tx.end()
      }
    },
  )
}

async function isCurrent(tx: HostTransaction<unknown>, dialect: Dialect, tables: FenceTables): Promise<boolean> {
  const { migration } = dialect
  if (!migration.readExists(await tx.query(migration.exists(tables)))) return false
  const version = migration.readVersion(await tx.query(migration.version(tables)))
  if (version === undefined) return false
  if (version >= schemaVersionBreaking) throw schemaTooNew(tables, version)
  return version >= schemaVersion
}
