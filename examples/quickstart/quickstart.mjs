import { TicketBroker } from '@ticketing/client'
import { pgFence } from '@ticketing/pg'
import { startServer } from '@ticketing/server'
import { startEmbeddedPostgres } from '@ticketing/testing'
import pg from 'pg'

const server = await startServer({ listen: '127.0.0.1:0' }) // in production: ticketing-server, in a process of its own
const database = await startEmbeddedPostgres() // in production: your own PostgreSQL
const pool = new pg.Pool({ connectionString: database.url })
pool.on('error', (error) => console.error('an idle connection ended:', error.message)) // else it would end the process
const broker = TicketBroker.connect(server.address)
const fence = pgFence(pool, { broker, defaults: { wait: 5, lease: 30, minWork: 2 } })
await fence.migrate()
await pool.query('CREATE TABLE account AS SELECT 42 AS id, 100 AS balance')

const balance = await fence.run('account:42', async (tx, ticket) => {
  console.log(`token ${ticket.token}, ${ticket.remaining().toFixed(1)} s left`)
  const { rows } = await tx.query('UPDATE account SET balance = balance - 10 WHERE id = 42 RETURNING balance')
  return rows[0].balance
})
console.log(`committed, the balance is ${balance}`)

await broker.close()
await pool.end()
await database.stop()
await server.close()
