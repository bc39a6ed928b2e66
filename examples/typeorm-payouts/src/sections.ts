import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common'
import { type AcquireOptions, TicketBroker } from '@ticketing/client'
import { type TypeOrmFence, typeormFence } from '@ticketing/typeorm'
import { DataSource } from 'typeorm'

/** Injects how long sections wait for their key, and how long they hold it. */
export const TIMES = Symbol('times of the sections')

/** The fence of this application, from its start to its shutdown. It registers itself, so `@Fenced` finds it. */
@Injectable()
export class Sections implements OnApplicationShutdown {
  readonly fence: TypeOrmFence<AcquireOptions>

  constructor(
    dataSource: DataSource,
    private readonly broker: TicketBroker,
    @Inject(TIMES) times: AcquireOptions,
  ) {
    this.fence = typeormFence(dataSource, { broker, defaults: times })
  }

  /**
   * Nest has let the requests that were running end by now, and TypeORM's module ends its connections after this one.
   * Waits until the server has confirmed the releases of the last sections.
   */
  async onApplicationShutdown(): Promise<void> {
    await this.broker.close()
  }
}
