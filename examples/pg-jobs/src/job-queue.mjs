// @ts-check
/**
 * @import { Duration } from '@ticketing/client'
 * @import { Pool } from 'pg'
 *
 * @typedef {object} Statements what a job's work sends its statements through; the handle of a section is one
 * @property {(text: string, values?: unknown[]) => Promise<{ rows: any[] }>} query
 *
 * @typedef {object} Sections what runs one critical section; `pgFence` with its times as defaults is one
 * @property {<R>(key: string, options: { wait?: Duration }, work: (tx: Statements) => Promise<R>) => Promise<R>} run
 *
 * @typedef {object} Job
 * @property {string} id
 * @property {string} account
 * @property {number} amount
 */

/** How long a worker waits for a job when every open one is with another worker. */
const waitForOthers = '5s'

/** The worker was too slow. It has written nothing: the job is still open, or another worker does it. */
const takenFromUs = new Set(['FENCE_STALE_TOKEN', 'FENCE_LEASE_EXPIRED'])

/** Jobs in a table. Each job is a critical section of its own, so it is done once, whichever worker does it. */
export class JobQueue {
  #pool
  #sections
  #perform

  /**
   * @param {Pool} pool
   * @param {Sections} sections
   * @param {(tx: Statements, job: Job, worker: string) => Promise<void>} perform does a job; all it writes goes through `tx`
   */
  constructor(pool, sections, perform) {
    this.#pool = pool
    this.#sections = sections
    this.#perform = perform
  }

  /**
   * Does one job, unless it is done already.
   *
   * @param {string} id
   * @param {string} worker
   * @param {Duration} wait how long to wait for the worker that has the job
   * @returns {Promise<boolean>} whether this call has done it
   */
  work(id, worker, wait) {
    return this.#sections.run(`job:${id}`, { wait }, async (tx) => {
      const { rows } = await tx.query('SELECT id, account, amount FROM job WHERE id = $1 AND done_by IS NULL', [id])
      /** @type {Job | undefined} */
      const job = rows[0]
      if (job === undefined) return false
      await this.#perform(tx, job, worker)
      await tx.query('UPDATE job SET done_by = $2 WHERE id = $1', [id, worker])
      return true
    })
  }

  /**
   * Works until no job is open.
   *
   * @param {string} worker
   * @param {(id: string, error: Error) => void} onRefused hears of each job that was taken from this worker
   * @returns {Promise<string[]>} the jobs that this worker has done
   */
  async workOff(worker, onRefused) {
    /** @type {string[]} */
    const done = []
    /** @type {(id: string, wait: Duration) => Promise<void>} */
    const attempt = async (id, wait) => {
      try {
        if (await this.work(id, worker, wait)) done.push(id)
      } catch (error) {
        const { code = '' } = /** @type {{ code?: string }} */ (error)
        if (takenFromUs.has(code)) onRefused(id, /** @type {Error} */ (error))
        else if (code !== 'TICKET_TIMEOUT') throw error // on a timeout, another worker has it
      }
    }
    for (let open = await this.#open(); open[0] !== undefined; open = await this.#open()) {
      const before = done.length
      for (const id of open) await attempt(id, 0)
      // All are with other workers. If one of these stalls, its job comes here when its lease is over.
      if (done.length === before) await attempt(open[0], waitForOthers)
    }
    return done
  }

  /** @returns {Promise<string[]>} */
  async #open() {
    const { rows } = await this.#pool.query('SELECT id FROM job WHERE done_by IS NULL ORDER BY id LIMIT 100')
    return rows.map(({ id }) => id)
  }
}

/** The work of this shop's jobs: credit an account. Done twice, the account has twice the money. */
export const creditAccount =
  /** @type {(tx: Statements, job: Job, worker: string) => Promise<void>} */
  async (tx, { id, account, amount }, worker) => {
    await tx.query('UPDATE account SET balance = balance + $2 WHERE id = $1', [account, amount])
    await tx.query('INSERT INTO credit (job, worker) VALUES ($1, $2)', [id, worker])
  }

/** The shop's own tables. */
export const tables = `
  CREATE TABLE job (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account text NOT NULL,
    amount integer NOT NULL,
    done_by text
  );
  CREATE TABLE account (id text PRIMARY KEY, balance integer NOT NULL);
  CREATE TABLE credit (job bigint NOT NULL REFERENCES job, worker text NOT NULL)`
