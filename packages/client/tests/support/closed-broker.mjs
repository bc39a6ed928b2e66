/** Uses a broker in every way, closes it, and has nothing more to do: the process must end by itself. */
import { TicketBroker } from '@ticketing/client'

const [address = '', mode] = process.argv.slice(2)
const options = { wait: 5, lease: 30, minWork: 1 }
const broker = TicketBroker.connect([address, '127.0.0.1:1'])
const ticket = await broker.acquire('k', options)
ticket.signal.addEventListener('abort', () => console.log('lease over'))
const { signal } = new AbortController()
await broker.acquire('other', { ...options, signal })
const waiting = [
  broker.acquire('k', { ...options, wait: 200 }),
  broker.acquire('other', { ...options, wait: 200, signal }),
]
const ended = Promise.allSettled(waiting)
if (mode === 'open') {
  // On the session of the waiter, so behind it: the answer tells that the queue's one place is taken.
  const { status } = await broker.tryAcquire('k', { ...options, wait: 1 })
  console.log(
    `${status}, kept alive by ${process.getActiveResourcesInfo().includes('TCPSocketWrap') ? 'its sockets' : 'nothing'}`,
  )
} else {
  await broker.close()
  const codes = (await ended).map((result) => (result.status === 'rejected' ? result.reason.code : 'granted'))
  console.log(`closed ${codes.join(' ')}`)
}
