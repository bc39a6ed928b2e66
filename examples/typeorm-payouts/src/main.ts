/** `npm start [-- --unfenced]`: a payout stalls past its lease, another one overtakes it, and the money is counted. */
import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import type { AcquireOptions } from '@ticketing/client'
import { startServer } from '@ticketing/server'
import { startEmbeddedPostgres } from '@ticketing/testing'
import { DataSource } from 'typeorm'
import { Account } from './account.entity'
import { AppModule } from './app.module'
import { Approval } from './approval'
import { LockOnlyPayouts } from './lock-only'
import { Payouts } from './payouts'

const fenced = !process.argv.includes('--unfenced')
/** A short lease, so that the demo does not take long. */
const times = { wait: 10, lease: 2, minWork: 0 } satisfies AcquireOptions

async function main(databaseUrl: string, ticketingAddress: string): Promise<boolean> {
  const payoutsClass = fenced ? Payouts : LockOnlyPayouts
  const root = AppModule.register({ databaseUrl, ticketingAddress, times, payouts: payoutsClass })
  const app = await NestFactory.createApplicationContext(root, { logger: ['warn', 'error'] })
  try {
    await app.get(DataSource).getRepository(Account).insert({ id: 'alice', opening: 100, balance: 100 })

    let slowPayoutHasRead = () => {}
    let approveSlowPayout = () => {}
    const read = new Promise<void>((resolve) => (slowPayoutHasRead = resolve))
    const approved = new Promise<void>((resolve) => (approveSlowPayout = resolve))
    app.get(Approval).approve = async ({ id }) => {
      if (id !== 'slow') return
      console.log('payout slow:  has read the balance, and waits for its approval')
      slowPayoutHasRead()
      await approved
    }
    const payouts = app.get(Payouts)
    const pay = (id: string, amount: number) =>
      payouts.pay('alice', id, amount).then(
        (left) => console.log(`payout ${`${id}:`.padEnd(6)} ${amount} paid, ${left} left`),
        (error: Error & { code?: string }) =>
          console.log(
            `payout ${`${id}:`.padEnd(6)} refused, ${error.code ?? error.message}: nothing of it was written`,
          ),
      )

    console.log(`alice has 100, locked for ${times.lease} s, ${fenced ? 'with' : 'WITHOUT'} the fence`)
    const slow = pay('slow', 30)
    await Promise.race([read, slow])
    // It queues behind the slow payout and gets the key when that one's lease is over.
    await pay('quick', 40)
    approveSlowPayout()
    await slow

    const { opening, balance, paidOut, addsUp } = await payouts.audit('alice')
    console.log(`the books:    ${balance} left + ${paidOut} paid out of ${opening}: ${addsUp ? 'ok' : 'WRONG'}`)
    return addsUp
  } finally {
    await app.close()
  }
}

/** In production neither is the application's: there is a PostgreSQL, and `ticketing-server` in a process of its own. */
async function withServices(work: typeof main): Promise<void> {
  const server = await startServer({ listen: '127.0.0.1:0' })
  const database = await startEmbeddedPostgres()
  try {
    process.exitCode = (await work(database.url, server.address)) ? 0 : 1
  } finally {
    await database.stop()
    await server.close()
  }
}

void withServices(main)
