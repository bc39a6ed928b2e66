import { FenceError } from '@ticketing/core'
import { databaseTargets } from '@ticketing/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Fenced } from '../../src/index.js'
import { casesOf, type FencedDatabase, openFencedDatabase } from '../support/fenced-database.js'
import { loadWithStandardDecorators } from '../support/standard-decorators.js'
import { typeormVersions } from '../support/typeorm-versions.js'
import type * as payouts from './payouts.js'

describe.each(casesOf(databaseTargets(), typeormVersions))('@Fenced, standard form, $title', ({ target, version }) => {
  let open: FencedDatabase
  let Payouts: typeof payouts.Payouts

  beforeAll(async () => {
    open = await openFencedDatabase(target, version)
    ;({ Payouts } = await loadWithStandardDecorators<typeof payouts>(new URL('payouts.ts', import.meta.url)))
  })
  beforeEach(() => open.reset())
  afterAll(() => open[Symbol.asyncDispose]())

  it('runs the method as a section on its key, with its arguments, its `this` and its result', async () => {
    open.broker.log.length = 0
    expect(await new Payouts().pay('a', 30)).toBe('mine')
    expect(await open.balance()).toBe(70)
    expect(open.broker.log).toEqual(['acquire account:a', 'release account:a'])
  })

  it('F8: takes all arguments into its keys, where the key function does', async () => {
    expect(await new Payouts().keys('c', 'b')).toEqual(['b', 'c'])
    expect(open.broker.acquired.at(-1)?.options).toMatchObject({ minWork: 2 })
  })

  it('stands on private and static methods', async () => {
    expect(await new Payouts().callHidden()).toEqual(['private'])
    expect(await Payouts.ofTheClass()).toBe('Payouts')
  })

  it('keeps the name and the length of the method', () => {
    expect([Payouts.prototype.pay.name, Payouts.prototype.pay.length]).toEqual(['pay', 2])
  })
})

it('@Fenced, standard form: refuses what is no method', () => {
  const decorate = Fenced({ key: () => 'a' }) as unknown as (value: unknown, context: object) => void
  expect(() => decorate(undefined, { kind: 'field', name: 'pay' })).toThrow(FenceError)
  expect(() => decorate(class {}, { kind: 'class', name: 'Payouts' })).toThrow(/can only stand on a method/)
})
