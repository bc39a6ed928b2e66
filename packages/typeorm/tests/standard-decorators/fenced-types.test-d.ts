/** What the compiler must accept and must refuse of the standard form. Checked by `tsc`, never run. */

import { expectTypeOf } from 'vitest'
import { Fenced } from '../../src/index.js'

class Accepted {
  @Fenced({ key: (accountId: string) => accountId, wait: 5, lease: '30s', minWork: 2 })
  async moreParameters(accountId: string, amount: number): Promise<number> {
    return accountId.length + amount
  }

  @Fenced({ key: (accountId: string, amount: number) => [accountId, String(amount)] })
  async asMany(accountId: string, amount: number): Promise<unknown> {
    return [accountId, amount]
  }

  @Fenced({ key: () => 'all' })
  async none(): Promise<void> {}

  @Fenced({ key: () => 'all' })
  async optional(first?: string, ...rest: number[]): Promise<unknown> {
    return [first, rest]
  }

  @Fenced({ key: (account: { readonly id: string }) => account.id })
  async narrower(account: { readonly id: string; readonly balance: number }): Promise<number> {
    return account.balance
  }

  @Fenced({ key: (id: string) => id, fence: 'second', retries: 1, isolation: 'serializable' })
  async generic<T>(id: string, value: T): Promise<[string, T]> {
    return [id, value]
  }

  @Fenced({ key: (id: string) => id })
  promise(id: string): Promise<string> {
    return Promise.resolve(id)
  }

  @Fenced({ key: () => 'all' })
  async #hidden(): Promise<void> {}

  async callHidden(): Promise<void> {
    await this.#hidden()
  }

  @Fenced({ key: () => 'all' })
  async withThis(this: Accepted): Promise<void> {
    await this.#hidden()
  }

  @Fenced({ key: () => 'all' })
  static async ofTheClass(): Promise<void> {}
}

// The decorated method keeps its own signature.
expectTypeOf<Accepted['moreParameters']>().toEqualTypeOf<(accountId: string, amount: number) => Promise<number>>()
expectTypeOf<Accepted['generic']>().toEqualTypeOf<<T>(id: string, value: T) => Promise<[string, T]>>()

export class Refused {
  // @ts-expect-error -- a synchronous method
  @Fenced({ key: () => 'all' })
  synchronous(): string {
    return 'a'
  }

  // @ts-expect-error -- the key's parameter has another type than the method's
  @Fenced({ key: (id: number) => String(id) })
  async otherType(id: string): Promise<string> {
    return id
  }

  // @ts-expect-error -- the key needs an argument that the method does not get
  @Fenced({ key: (id: string, amount: number) => `${id}${amount}` })
  async fewerParameters(id: string): Promise<string> {
    return id
  }

  // @ts-expect-error -- a key is a string or a list of them
  @Fenced({ key: (id: number) => id })
  async numberKey(id: number): Promise<number> {
    return id
  }

  // @ts-expect-error -- no key
  @Fenced({ wait: 5 })
  async noKey(): Promise<void> {}

  // @ts-expect-error -- an unknown option
  @Fenced({ key: () => 'all', minwork: 2 })
  async unknownOption(): Promise<void> {}

  // @ts-expect-error -- not a method
  @Fenced({ key: () => 'all' })
  field = 1

  // @ts-expect-error -- an accessor
  @Fenced({ key: () => 'all' })
  get accessor(): Promise<number> {
    return Promise.resolve(1)
  }
}

// @ts-expect-error -- a class
@Fenced({ key: () => 'all' })
export class Decorated {}
