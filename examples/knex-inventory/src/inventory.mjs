// @ts-check
/**
 * @import { Knex } from 'knex'
 *
 * @typedef {object} Order
 * @property {string} id
 * @property {number} articleId
 * @property {number} quantity
 *
 * @typedef {object} Sections what runs one critical section; `knexFence` with its times as defaults is one
 * @property {<R>(key: string, work: (trx: Knex.Transaction) => Promise<R>) => Promise<R>} run
 *
 * @typedef {object} Article
 * @property {number} id
 * @property {number} available
 */

/** There is less in stock than an order asks for; nothing was reserved. */
export class OutOfStock extends Error {}

/** The stock of a shop. Each article is a critical section of its own. */
export class Inventory {
  #sections
  #approve

  /**
   * @param {Sections} sections
   * @param {(order: Order) => Promise<void>} approve asks someone else, and may take as long as it likes
   */
  constructor(sections, approve) {
    this.#sections = sections
    this.#approve = approve
  }

  /**
   * Reserves stock for an order. It reads, decides and writes what it has computed, with no row lock: that nobody else
   * writes in between, or that this one's write is refused, is the section's affair.
   *
   * @param {Order} order
   * @returns {Promise<number>} what is left
   * @throws {OutOfStock}
   */
  reserve(order) {
    const { id, articleId, quantity } = order
    return this.#sections.run(`article:${articleId}`, async (trx) => {
      /** @type {Article | undefined} */
      const article = await trx('article').where({ id: articleId }).first('id', 'available')
      if (article === undefined || article.available < quantity) throw new OutOfStock(`article ${articleId}`)
      await this.#approve(order)
      const available = article.available - quantity
      await trx('article').where({ id: articleId }).update({ available })
      await trx('reservation').insert({ order_id: id, article_id: articleId, quantity })
      return available
    })
  }
}

/**
 * The shop's own tables.
 *
 * @param {Knex} knex
 */
export async function createTables(knex) {
  await knex.schema.createTable('article', (table) => {
    table.integer('id').primary()
    table.integer('stock').notNullable()
    table.integer('available').notNullable()
  })
  await knex.schema.createTable('reservation', (table) => {
    table.string('order_id').primary()
    table.integer('article_id').notNullable().references('article.id')
    table.integer('quantity').notNullable()
  })
}

/**
 * Whether an article adds up: what is available and what is reserved is what there was.
 *
 * @param {Knex} knex
 * @param {number} articleId
 * @returns {Promise<{ stock: number, available: number, reserved: number, addsUp: boolean }>}
 */
export async function audit(knex, articleId) {
  const { rows } = await knex.raw(
    `SELECT stock, available, coalesce(sum(quantity), 0)::integer AS reserved
     FROM article LEFT JOIN reservation ON article_id = article.id WHERE article.id = ? GROUP BY article.id`,
    [articleId],
  )
  const { stock, available, reserved } = rows[0]
  return { stock, available, reserved, addsUp: available + reserved === stock }
}
