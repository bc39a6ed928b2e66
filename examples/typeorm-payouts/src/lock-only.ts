import { Inject, Injectable } from '@nestjs/common'
import { InjectRepository } from '@nestjs/typeorm'
import { type AcquireOptions, TicketBroker } from '@ticketing/client'
import { Repository } from 'typeorm'
import { Account } from './account.entity'
import { Approval } from './approval'
import { Payout } from './payout.entity'
import { NotCovered, Payouts } from './payouts'
import { TIMES } from './sections'

/**
 * Payouts as they are often written: take the lock, run a transaction, give the lock back. It looks right, and it is
 * right until a holder stalls for longer than its lease. Do not copy it.
 */
@Injectable()
export class LockOnlyPayouts extends Payouts {
  constructor(
    @InjectRepository(Account) accounts: Repository<Account>,
    approval: Approval,
    private readonly broker: TicketBroker,
    @Inject(TIMES) private readonly times: AcquireOptions,
  ) {
    super(accounts, approval)
  }

  override async pay(accountId: string, id: string, amount: number): Promise<number> {
    const ticket = await this.broker.acquire(`account:${accountId}`, this.times)
    try {
      return await this.accounts.manager.transaction(async (manager) => {
        const account = await manager.findOneByOrFail(Account, { id: accountId })
        if (account.balance < amount) throw new NotCovered(`account ${accountId}`)
        const payout: Payout = { id, accountId, amount }
        await this.approval.approve(payout)
        const balance = account.balance - amount
        await manager.update(Account, { id: accountId }, { balance })
        await manager.insert(Payout, payout)
        return balance
      })
    } finally {
      await ticket[Symbol.asyncDispose]()
    }
  }
}
