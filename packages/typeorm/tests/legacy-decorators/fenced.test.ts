import 'reflect-metadata'
import { FenceError } from '@ticketing/core'
import { databaseTargets } from '@ticketing/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Fenced, fencedManager, fencedRepository, fencedTicket } from '../../src/index.js'
import { failureOf } from '../support/assertions.js'
import { type Account, casesOf, type FencedDatabase, openFencedDatabase } from '../support/fenced-database.js'
import { typeormVersions } from '../support/typeorm-versions.js'

/** What a framework does: it notes something on the method, before or after `Fenced` in the order of decorators. */
function Route(path: string) {
  return (_: object, __: string | symbol, descriptor: PropertyDescriptor) => {
    Reflect.defineMetadata('path', path, descriptor.value as object)
    Object.assign(descriptor.value as object, { path })
  }
}

class Payouts {
  readonly bank = 'mine'

  @Fenced({ key: (accountId: string) => `account:${accountId}` })
  async pay(accountId: string, amount: number): Promise<string> {
    await fencedManager().decrement<Account>('account', { id: accountId }, 'balance', amount)
    return this.bank
  }

  @Fenced({ key: (from: string, to: string) => [from, to], minWork: 2, isolation: 'serializable' })
  async transfer(from: string, to: string): Promise<readonly string[]> {
    const { balance } = await fencedRepository<Account>('account').findOneByOrFail({ id: from })
    await this.book(from, -balance)
    await this.book(to, balance)
    return fencedTicket().keys
  }

  private async book(id: string, amount: number): Promise<void> {
    await fencedRepository<Account>('account').increment({ id }, 'balance', amount)
  }

  @Fenced({ key: () => 'outer' })
  async outer(): Promise<string> {
    return await this.pay('a', 1)
  }

  @Route('/above')
  @Fenced({ key: () => 'a' })
  async routeAbove(id: string, body: object): Promise<unknown> {
    return [id, body]
  }

  @Fenced({ key: () => 'a' })
  @Route('/below')
  async routeBelow(id: string, body: object): Promise<unknown> {
    return [id, body]
  }

  @Fenced({ key: () => 'a', fence: 'nowhere' })
  async elsewhere(): Promise<void> {}

  @Fenced({ key: () => 'a' })
  static async ofTheClass(): Promise<string> {
    return this.name
  }
}

describe.each(casesOf(databaseTargets(), typeormVersions))('@Fenced, legacy form, $title', ({ target, version }) => {
  let open: FencedDatabase
  const payouts = new Payouts()

  beforeAll(async () => {
    open = await openFencedDatabase(target, version)
  })
  beforeEach(() => open.reset())
  afterAll(() => open[Symbol.asyncDispose]())

  it('runs the method as a section on its key, with its arguments, its `this` and its result', async () => {
    open.broker.log.length = 0
    expect(await payouts.pay('a', 30)).toBe('mine')
    expect(await open.balance()).toBe(70)
    expect(open.broker.log).toEqual(['acquire account:a', 'release account:a'])
    expect(await Payouts.ofTheClass()).toBe('Payouts')
  })

  it('F8: takes a list of keys, and options over the fence’s defaults', async () => {
    await open.dataSource.getRepository(open.account).save({ id: 'b', balance: 0 })
    expect(await payouts.transfer('b', 'a')).toEqual(['a', 'b'])
    expect(open.broker.acquired.at(-1)?.options).toMatchObject({ lease: 20, minWork: 2 })
  })

  it('F9: a decorated method inside a decorated method is refused, and the outer one rolls back', async () => {
    const error = await failureOf(payouts.outer())
    expect(error.code).toBe('FENCE_NESTED')
    expect(await open.balance()).toBe(100)
  })

  it.each(['routeAbove', 'routeBelow'] as const)('keeps what a framework knows of %s', (name) => {
    const method = Payouts.prototype[name]
    expect([method.name, method.length]).toEqual([name, 2])
    expect(Reflect.getMetadata('path', method)).toBe(`/${name.slice(5).toLowerCase()}`)
    expect(method).toHaveProperty('path')
    expect(Object.getOwnPropertyDescriptor(Payouts.prototype, name)).toMatchObject({
      enumerable: false,
      configurable: true,
      writable: true,
    })
  })

  it('FENCE_NOT_CONFIGURED: without a fence of that name, the method is not run', async () => {
    expect((await failureOf(payouts.elsewhere())).code).toBe('FENCE_NOT_CONFIGURED')
  })

  it('FENCE_NO_SECTION: outside a section, and after one, there is no manager', async () => {
    for (const call of [() => fencedManager(), () => fencedRepository('account'), () => fencedTicket()]) {
      expect(call).toThrow(expect.objectContaining({ code: 'FENCE_NO_SECTION' }))
    }
    let late: Promise<unknown> = Promise.resolve()
    let go = () => {}
    await open.fence.run('a', () => {
      late = new Promise<void>((resolve) => {
        go = resolve
      }).then(() => fencedManager())
    })
    go()
    expect((await failureOf(late)).code).toBe('FENCE_NO_SECTION')
  })

  it('fault 16: rejects as fence.run does when a ticket is not obtained, and takes no connection', async () => {
    const { acquire } = open.broker
    const refused = new Error('the lock service is gone')
    open.broker.acquire = () => Promise.reject(refused)
    expect(await failureOf(payouts.pay('a', 1))).toBe(refused)
    open.broker.acquire = acquire
  })
})

describe('@Fenced, legacy form, wrongly used', () => {
  it('refuses what is no method, and options without a key', () => {
    const decorate = Fenced({ key: () => 'a' }) as unknown as (...args: unknown[]) => void
    expect(() => decorate({}, 'field')).toThrow(FenceError)
    expect(() => decorate(class {})).toThrow(/can only stand on a method/)
    expect(() => Fenced({} as { key: () => string })).toThrow(/needs a key function/)
  })
})
