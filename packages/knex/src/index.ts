export { type KnexFence, type KnexFenceOptions, knexFence } from './knex-fence.js'
