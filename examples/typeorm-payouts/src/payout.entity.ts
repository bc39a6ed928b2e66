import { Column, Entity, PrimaryColumn } from 'typeorm'

@Entity()
export class Payout {
  @PrimaryColumn('text')
  id!: string

  @Column('text', { name: 'account_id' })
  accountId!: string

  @Column('integer')
  amount!: number
}
