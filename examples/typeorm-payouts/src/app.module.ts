import { type DynamicModule, Module, type Type } from '@nestjs/common'
import { TypeOrmModule } from '@nestjs/typeorm'
import { type AcquireOptions, TicketBroker } from '@ticketing/client'
import { FenceMigration } from '@ticketing/typeorm'
import { Account } from './account.entity'
import { Approval } from './approval'
import { Payout } from './payout.entity'
import { Payouts } from './payouts'
import { Sections, TIMES } from './sections'
import { Tables1767225600000 } from './tables.migration'

export interface AppOptions {
  readonly databaseUrl: string
  /** Of the `ticketing-server`. */
  readonly ticketingAddress: string
  readonly times?: AcquireOptions
  readonly payouts?: Type<Payouts>
}

@Module({})
export class AppModule {
  static register({ databaseUrl, ticketingAddress, times, payouts }: AppOptions): DynamicModule {
    const database = TypeOrmModule.forRoot({
      type: 'postgres',
      url: databaseUrl,
      entities: [Account, Payout],
      migrations: [Tables1767225600000, FenceMigration],
      migrationsRun: true,
      retryAttempts: 0,
    })
    return {
      module: AppModule,
      imports: [database, TypeOrmModule.forFeature([Account, Payout])],
      providers: [
        { provide: TicketBroker, useFactory: () => TicketBroker.connect(ticketingAddress) },
        { provide: TIMES, useValue: times ?? { wait: 20, lease: 30, minWork: 2 } },
        Sections,
        Approval,
        { provide: Payouts, useClass: payouts ?? Payouts },
      ],
    }
  }
}
