// @ts-check
/** `npm start [-- --unfenced]`: an order stalls past its lease, another one overtakes it, and the stock is counted. */
import { TicketBroker } from '@ticketing/client'
import { knexFence } from '@ticketing/knex'
import { startServer } from '@ticketing/server'
import { startEmbeddedPostgres } from '@ticketing/testing'
import Knex from 'knex'
import { audit, createTables, Inventory } from './inventory.mjs'
import { lockOnly } from './lock-only.mjs'

const fenced = !process.argv.includes('--unfenced')
/** A short lease, so that the demo does not take long. @satisfies {import('@ticketing/client').AcquireOptions} */
const times = { wait: 10, lease: 2, minWork: 0 }

const server = await startServer({ listen: '127.0.0.1:0' }) // in production: ticketing-server, in a process of its own
const database = await startEmbeddedPostgres() // in production: your own PostgreSQL
const knex = Knex({ client: 'pg', connection: database.url })
const broker = TicketBroker.connect(server.address)
try {
  await createTables(knex)
  await knex('article').insert({ id: 7, stock: 10, available: 10 })
  const fence = knexFence(knex, { broker, defaults: times })
  await fence.migrate()

  let slowOrderHasRead = () => {}
  let approveSlowOrder = () => {}
  const read = new Promise((resolve) => (slowOrderHasRead = () => resolve(undefined)))
  const approved = new Promise((resolve) => (approveSlowOrder = () => resolve(undefined)))
  const inventory = new Inventory(fenced ? fence : lockOnly(knex, broker, times), async ({ id }) => {
    if (id !== 'slow') return
    console.log('order slow:  has read the stock, and waits for its approval')
    slowOrderHasRead()
    await approved
  })
  /** @param {import('./inventory.mjs').Order} order */
  const reserve = ({ id, ...order }) =>
    inventory.reserve({ id, ...order }).then(
      (left) => console.log(`order ${`${id}:`.padEnd(6)} reserved ${order.quantity}, ${left} left`),
      (error) => console.log(`order ${`${id}:`.padEnd(6)} refused, ${error.code ?? error}: nothing of it was written`),
    )

  console.log(`article 7:   10 in stock; orders lock it for ${times.lease} s, ${fenced ? 'with' : 'WITHOUT'} the fence`)
  const slow = reserve({ id: 'slow', articleId: 7, quantity: 3 })
  await Promise.race([read, slow])
  // It queues behind the slow order and gets the key when that one's lease is over.
  await reserve({ id: 'quick', articleId: 7, quantity: 4 })
  approveSlowOrder()
  await slow

  const { stock, available, reserved, addsUp } = await audit(knex, 7)
  console.log(`the books:   ${available} available + ${reserved} reserved of ${stock}: ${addsUp ? 'ok' : 'WRONG'}`)
  process.exitCode = addsUp ? 0 : 1
} finally {
  await broker.close()
  await knex.destroy()
  await database.stop()
  await server.close()
}
