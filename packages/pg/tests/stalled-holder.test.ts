import { setTimeout as delay } from 'node:timers/promises'
import { databaseTargets } from '@ticketing/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HolderProcess } from './support/holder-process.js'
import { ScriptedBroker } from './support/scripted-broker.js'
import { TestBed } from './support/test-bed.js'

/** What the bound may be missed by on a busy machine. A lost bound misses it by half a lease or more. */
const latenessMilliseconds = 500
const leaseSeconds = 2

/** Processes are stopped as they are on a machine that swaps or a virtual machine that is paused. */
describe.skipIf(process.platform === 'win32').each(databaseTargets())('a stopped holder on $name', (target) => {
  let bed: TestBed
  let holder: HolderProcess
  beforeAll(async () => {
    bed = await TestBed.create(target)
    holder = await HolderProcess.start()
  })
  afterAll(async () => {
    await holder[Symbol.asyncDispose]()
    await bed[Symbol.asyncDispose]()
  })

  const order = (scenario: 'late' | 'alternating' | 'before-check' | 'before-begin', seconds: number) =>
    holder.order({ scenario, url: bed.url, key: scenario, token: '10', leaseSeconds: seconds })
  /** The next holder's section: what it read of the stopped one's write, and when it got in. */
  const succeed = (key: string, token: bigint) => {
    const broker = new ScriptedBroker(token - 1n)
    return bed.fence(broker).run(key, async (tx) => {
      const enteredAt = performance.now()
      const { rows } = await tx.query<{ balance: string }>('SELECT balance FROM account WHERE id = $1', [key])
      await tx.query('INSERT INTO account VALUES ($1, 1)', [key])
      return { enteredAt, read: rows }
    })
  }
  const endedByDatabase = {
    name: 'FenceError',
    code: 'FENCE_LEASE_EXPIRED',
    causeCode: target.major >= 17 ? '25P04' : '25P03',
  }

  it('F4, F15: late in its lease it is ended by the database when the lease is over, and its writes are gone', async () => {
    order('late', leaseSeconds)
    const { remainingSeconds } = await holder.told('at')
    const leaseOverAt = performance.now() + remainingSeconds * 1000
    await holder.stop()
    const { enteredAt, read } = await succeed('late', 11n)
    expect(enteredAt).toBeLessThan(leaseOverAt + latenessMilliseconds)
    expect(read).toEqual([])

    holder.wake()
    expect((await holder.told('end')).error).toMatchObject(endedByDatabase)
    expect(await bed.balance('late')).toBe('1')
    expect(await bed.fenceRow('late')).toMatchObject({ token: '11', previousToken: null })
  })

  it('F4: short statements between long stops do not carry it past its lease', async () => {
    order('alternating', leaseSeconds)
    const { remainingSeconds } = await holder.told('at')
    const leaseOverAt = performance.now() + remainingSeconds * 1000
    await holder.stop()
    await delay(leaseSeconds * 0.7 * 1000)
    holder.goOn()
    holder.wake()
    await holder.told('at')
    await holder.stop()
    const { enteredAt, read } = await succeed('alternating', 11n)
    expect(enteredAt).toBeLessThan(leaseOverAt + latenessMilliseconds)
    expect(read).toEqual([])

    holder.wake()
    expect((await holder.told('end')).error).toMatchObject(endedByDatabase)
    expect(await bed.balance('alternating')).toBe('1')
  })

  it('F1, F3: stopped before its last look at the lease, it sends the database nothing', async () => {
    order('before-check', 1)
    await holder.stopped()
    // It was stopped with its lease running, so this long after the lease is over for certain.
    await delay(1_000)
    holder.wake()
    const { error, bytes } = await holder.told('end')
    expect(error).toMatchObject({ code: 'FENCE_LEASE_EXPIRED' })
    expect(bytes).toBe(0)
    expect(await bed.fenceRow('before-check')).toBeUndefined()
  })

  it('F1, F2: stopped after that look, as BEGIN leaves, its claim is refused with its token and the high-water', async () => {
    order('before-begin', 1)
    await holder.stopped()
    // Far past the lease: what it notes first when it wakes is that the claim's time is over; the answer counts all the same.
    await delay(2_500)
    await succeed('before-begin', 11n)
    holder.wake()
    const { error, bytes } = await holder.told('end')
    expect(error).toMatchObject({
      name: 'StaleTokenError',
      code: 'FENCE_STALE_TOKEN',
      key: 'before-begin',
      token: '10',
      highWater: '11',
    })
    expect(bytes).toBeGreaterThan(0)
    expect(await bed.balance('before-begin')).toBe('1')
  })
})
