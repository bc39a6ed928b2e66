import { Fenced, fencedManager, fencedTicket } from '../../src/index.js'

/** A service with standard decorators. `loadWithStandardDecorators` compiles it. */
export class Payouts {
  readonly bank = 'mine'
  readonly #log: string[] = []

  @Fenced({ key: (accountId: string) => `account:${accountId}` })
  async pay(accountId: string, amount: number): Promise<string> {
    await fencedManager().query('UPDATE account SET balance = balance - $2 WHERE id = $1', [accountId, amount])
    return this.bank
  }

  @Fenced({ key: (...ids: string[]) => ids, minWork: 2 })
  async keys(...ids: string[]): Promise<readonly string[]> {
    this.#log.push(...ids)
    return fencedTicket().keys
  }

  @Fenced({ key: () => 'private' })
  async #hidden(): Promise<readonly string[]> {
    return [...this.#log, ...fencedTicket().keys]
  }

  async callHidden(): Promise<readonly string[]> {
    return await this.#hidden()
  }

  @Fenced({ key: () => 'class' })
  static async ofTheClass(): Promise<string> {
    return this.name
  }
}
