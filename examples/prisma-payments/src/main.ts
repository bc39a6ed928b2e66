/** `npm start [-- --unfenced]`: a payment stalls past its lease, another one overtakes it, and the money is counted. */
import { type AcquireOptions, TicketBroker } from '@ticketing/client'
import { startServer } from '@ticketing/server'
import { startEmbeddedPostgres } from '@ticketing/testing'
import { connect, createTables } from './database.js'
import { lockOnly } from './lock-only.js'
import { audit, type Payment, Payments } from './payments.js'

const fenced = !process.argv.includes('--unfenced')
/** A short lease, so that the demo does not take long. */
const times = { wait: 10, lease: 2, minWork: 0 } satisfies AcquireOptions

const server = await startServer({ listen: '127.0.0.1:0' }) // in production: ticketing-server, in a process of its own
const database = await startEmbeddedPostgres() // in production: your own PostgreSQL
const broker = TicketBroker.connect(server.address)
const prisma = connect(database.url, broker, times)
try {
  await createTables(prisma)
  const opening = { opening: 100, balance: 100 }
  await prisma.account.createMany({ data: ['alice', 'bob', 'carol'].map((id) => ({ id, ...opening })) })

  let slowPaymentHasRead = () => {}
  let approveSlowPayment = () => {}
  const read = new Promise<void>((resolve) => (slowPaymentHasRead = resolve))
  const approved = new Promise<void>((resolve) => (approveSlowPayment = resolve))
  const payments = new Payments(fenced ? prisma : lockOnly(prisma, broker, times), async ({ id }) => {
    if (id !== 'slow') return
    console.log('payment slow:  has read the balances, and waits for its approval')
    slowPaymentHasRead()
    await approved
  })
  const pay = ({ id, ...payment }: Payment) =>
    payments.pay({ id, ...payment }).then(
      (left) => console.log(`payment ${`${id}:`.padEnd(6)} ${payment.amount} to ${payment.to}, ${left} left`),
      (error: Error & { code?: string }) =>
        console.log(`payment ${`${id}:`.padEnd(6)} refused, ${error.code ?? error.message}: nothing of it was written`),
    )

  console.log(`three accounts of 100, locked for ${times.lease} s, ${fenced ? 'with' : 'WITHOUT'} the fence`)
  const slow = pay({ id: 'slow', from: 'alice', to: 'bob', amount: 30 })
  await Promise.race([read, slow])
  // It queues behind the slow payment and gets alice's key when that one's lease is over.
  await pay({ id: 'quick', from: 'alice', to: 'carol', amount: 40 })
  approveSlowPayment()
  await slow

  const { balances, addsUp } = await audit(prisma)
  const total = Object.values(balances).reduce((sum, balance) => sum + balance, 0)
  const shown = Object.entries(balances).map(([id, balance]) => `${id} ${balance}`)
  console.log(`the books:     ${shown.join(', ')}: ${total} of 300: ${addsUp ? 'ok' : 'WRONG'}`)
  process.exitCode = addsUp ? 0 : 1
} finally {
  await broker.close()
  await prisma.$disconnect()
  await database.stop()
  await server.close()
}
