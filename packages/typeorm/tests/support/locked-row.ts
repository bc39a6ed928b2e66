import pg from 'pg'

/**
 * Runs `work` while a connection of its own holds what `statement` locked.
 *
 * @param work - its first argument resolves once somebody waits for such a lock, its second commits.
 */
export async function withLockedRow(
  url: string,
  statement: string,
  work: (waited: () => Promise<void>, commit: () => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  try {
    await holder.query('BEGIN')
    await holder.query(statement)
    const waited = async () => {
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      while ((await holder.query(waiting)).rowCount === 0) {
        // The view is read anew with each statement of a later snapshot.
        await holder.query('SELECT pg_stat_clear_snapshot()')
      }
    }
    await work(waited, () => holder.query('COMMIT'))
  } finally {
    await holder.end()
  }
}
