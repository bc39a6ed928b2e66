export { fenceSchemaSql } from '@ticketing/core'
export { type FenceMigration, fenceMigration } from './fence-migration.js'
export { type KnexFence, type KnexFenceOptions, knexFence } from './knex-fence.js'
