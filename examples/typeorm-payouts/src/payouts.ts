import { Injectable } from '@nestjs/common'
import { InjectRepository } from '@nestjs/typeorm'
import { Fenced, fencedManager, fencedRepository } from '@ticketing/typeorm'
import { Repository } from 'typeorm'
import { Account } from './account.entity'
import { Approval } from './approval'
import { Payout } from './payout.entity'

/** The account has less than the amount; nothing was paid out. */
export class NotCovered extends Error {}

/** Payouts from accounts. Each account is a critical section of its own. */
@Injectable()
export class Payouts {
  constructor(
    @InjectRepository(Account) protected readonly accounts: Repository<Account>,
    protected readonly approval: Approval,
  ) {}

  /** A read on its own decides nothing and needs no section: it uses the repository that Nest has injected. */
  async balance(accountId: string): Promise<number> {
    return (await this.accounts.findOneByOrFail({ id: accountId })).balance
  }

  /**
   * Reads, decides and writes what it has computed, with no row lock: that nobody else writes in between, or that this
   * one's write is refused, is the section's affair. So all of it goes through the section's own repositories.
   *
   * @returns what the account has left.
   * @throws {NotCovered}
   */
  @Fenced({ key: (accountId: string) => `account:${accountId}` })
  async pay(accountId: string, id: string, amount: number): Promise<number> {
    const accounts = fencedRepository(Account)
    const account = await accounts.findOneByOrFail({ id: accountId })
    if (account.balance < amount) throw new NotCovered(`account ${accountId}`)
    const payout: Payout = { id, accountId, amount }
    await this.approval.approve(payout)
    const balance = account.balance - amount
    await accounts.update({ id: accountId }, { balance })
    await fencedManager().insert(Payout, payout)
    return balance
  }

  /** Whether an account adds up: what it has and what was paid out is what was paid in. */
  async audit(accountId: string) {
    const { opening, balance } = await this.accounts.findOneByOrFail({ id: accountId })
    const paidOut = (await this.accounts.manager.sum(Payout, 'amount', { accountId })) ?? 0
    return { opening, balance, paidOut, addsUp: balance + paidOut === opening }
  }
}
