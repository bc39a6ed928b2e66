import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { closeOnSignal, type StoppableProcess } from '../src/shutdown.js'
import { startTestServer } from './server-fixture.js'

const shuttingDown = { type: 'error', reason: 'shutting_down' }

it('wire: close tells every session, also one in its handshake, and ends them; nobody else gets in', async () => {
  const server = await startTestServer()
  const [idle, holder, queued, greeted] = [await server.join(), await server.join(), await server.join(), server.open()]
  await holder.take('k')
  queued.send(queued.request('k', 60))
  await queued.settle()
  await greeted.greeting()
  const closed = server.close()
  for (const client of [idle, holder, queued, greeted]) {
    expect(await client.next()).toEqual(shuttingDown)
    await client.closed
  }
  await closed
  await server.close()
  const late = connect(Number(server.address.split(':')[1]), '127.0.0.1')
  await expect(new Promise((resolve) => late.on('error', (error) => resolve(error.message)))).resolves.toMatch(
    /ECONNREFUSED/,
  )
})

it('wire: close does not wait longer than 2 s for a client that stays', async () => {
  const server = await startTestServer()
  const client = server.open({ allowHalfOpen: true })
  await client.shakeHands()
  const closed = server.close()
  expect(await client.next()).toEqual(shuttingDown)
  server.clock.advance(2000)
  await closed
})

it('wire: the first signal closes the server and exits with 0', async () => {
  const actions = new Map<string, (signal: string) => void>()
  const log: unknown[] = []
  const exited = new Promise<number>((resolve) => {
    const process: StoppableProcess = { once: (signal, action) => actions.set(signal, action), exit: resolve }
    const steps: string[] = []
    const close = async () => {
      steps.push('closed')
    }
    const server = { address: '', close, [Symbol.asyncDispose]: close }
    const logger = { info: (fields: unknown) => log.push(fields), warn() {}, error() {} }
    closeOnSignal(server, logger, process)
  })
  expect([...actions.keys()]).toEqual(['SIGTERM', 'SIGINT'])
  actions.get('SIGTERM')?.('SIGTERM')
  expect(await exited).toBe(0)
  expect(log).toEqual([{ signal: 'SIGTERM' }])
})
