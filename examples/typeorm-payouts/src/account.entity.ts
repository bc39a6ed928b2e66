import { Column, Entity, PrimaryColumn } from 'typeorm'

@Entity()
export class Account {
  @PrimaryColumn('text')
  id!: string

  /** What was paid in. */
  @Column('integer')
  opening!: number

  @Column('integer')
  balance!: number
}
