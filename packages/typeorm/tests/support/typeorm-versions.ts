import * as typeorm from 'typeorm'
import * as typeorm03 from 'typeorm-0.3'

/** One release of TypeORM. The tests are written in the types of the first; what they call is the same in both. */
export interface TypeOrmVersion {
  readonly version: string
  readonly DataSource: typeof typeorm.DataSource
  readonly EntitySchema: typeof typeorm.EntitySchema
}

export const typeormVersions: readonly [TypeOrmVersion, TypeOrmVersion] = [
  { version: 'TypeORM 1', DataSource: typeorm.DataSource, EntitySchema: typeorm.EntitySchema },
  {
    version: 'TypeORM 0.3',
    DataSource: typeorm03.DataSource as unknown as typeof typeorm.DataSource,
    EntitySchema: typeorm03.EntitySchema as unknown as typeof typeorm.EntitySchema,
  },
]
