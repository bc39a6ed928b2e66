import type { FencedPrisma } from './database.js'

export interface Payment {
  readonly id: string
  readonly from: string
  readonly to: string
  /** In cents. */
  readonly amount: number
}

/** The payer has less than the amount; nothing was paid. */
export class NotCovered extends Error {}

/** Payments from account to account. Each account is a critical section of its own; a payment is one on both. */
export class Payments {
  readonly #prisma: FencedPrisma
  readonly #approve: (payment: Payment) => Promise<void>

  /** @param approve - asks someone else, and may take as long as it likes. */
  constructor(prisma: FencedPrisma, approve: (payment: Payment) => Promise<void>) {
    this.#prisma = prisma
    this.#approve = approve
  }

  /**
   * Reads, decides and writes what it has computed, with no row lock: that nobody else writes in between, or that this
   * one's write is refused, is the section's affair.
   *
   * @returns what the payer has left.
   * @throws {NotCovered}
   */
  async pay(payment: Payment): Promise<number> {
    const { id, from, to, amount } = payment
    return await this.#prisma.$fenced([`account:${from}`, `account:${to}`], async (tx) => {
      const payer = await tx.account.findUniqueOrThrow({ where: { id: from } })
      const payee = await tx.account.findUniqueOrThrow({ where: { id: to } })
      if (payer.balance < amount) throw new NotCovered(`account ${from}`)
      await this.#approve(payment)
      const balance = payer.balance - amount
      await tx.account.update({ where: { id: from }, data: { balance } })
      await tx.account.update({ where: { id: to }, data: { balance: payee.balance + amount } })
      await tx.payment.create({ data: { id, from, to, amount } })
      return balance
    })
  }
}

/** What each account has, and whether it is what its payments have left of it. */
export async function audit(prisma: Pick<FencedPrisma, 'account' | 'payment'>) {
  const accounts = await prisma.account.findMany({ orderBy: { id: 'asc' } })
  const payments = await prisma.payment.findMany()
  const sumOf = (side: 'from' | 'to', id: string) =>
    payments.filter((payment) => payment[side] === id).reduce((sum, { amount }) => sum + amount, 0)
  return {
    balances: Object.fromEntries(accounts.map(({ id, balance }) => [id, balance])),
    addsUp: accounts.every(({ id, opening, balance }) => balance === opening - sumOf('from', id) + sumOf('to', id)),
  }
}
