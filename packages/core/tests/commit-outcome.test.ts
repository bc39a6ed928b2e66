import { describe, expect, test } from 'vitest'
import { DatabaseError } from './support/fake-database.js'
import { rejection } from './support/gate.js'
import type { RecordedHandle } from './support/recording-host.js'
import { hostKinds } from './support/recording-host.js'
import { sectionWorld } from './support/section-world.js'

const fails = (error: unknown) => () => Promise.reject(error)
const error = (sqlState: string) => new DatabaseError(sqlState)
const fatal = (sqlState: string) => new DatabaseError(sqlState, true)

describe.each(hostKinds)('$shape, $evidence', (kind) => {
  describe('COMMIT', () => {
    test.each([
      ['no answer', 'FENCE_COMMIT_UNKNOWN', 'unknown', new Error('Connection terminated')],
      ['08000', 'FENCE_COMMIT_UNKNOWN', 'unknown', error('08000')],
      ['08006', 'FENCE_COMMIT_UNKNOWN', 'unknown', error('08006')],
      ['57P01', 'FENCE_COMMIT_UNKNOWN', 'unknown', fatal('57P01')],
      ['57P02', 'FENCE_COMMIT_UNKNOWN', 'unknown', fatal('57P02')],
      ['57P03', 'FENCE_COMMIT_UNKNOWN', 'unknown', error('57P03')],
      ['40003', 'FENCE_COMMIT_UNKNOWN', 'unknown', error('40003')],
      ['FATAL XX000', 'FENCE_COMMIT_UNKNOWN', 'unknown', fatal('XX000')],
      ['FATAL 53200', 'FENCE_COMMIT_UNKNOWN', 'unknown', fatal('53200')],
      ['FATAL 25P03', 'FENCE_LEASE_EXPIRED', 'not-executed', fatal('25P03')],
      ['FATAL 25P04', 'FENCE_LEASE_EXPIRED', 'not-executed', fatal('25P04')],
      ['25P02', 'FENCE_TX_ABORTED', 'not-executed', error('25P02')],
      ['23503 of a deferred constraint', 'FENCE_COMMIT_FAILED', 'not-executed', error('23503')],
      ['23505', 'FENCE_COMMIT_FAILED', 'not-executed', error('23505')],
      ['40001', 'FENCE_COMMIT_FAILED', 'not-executed', error('40001')],
      ['40P01', 'FENCE_COMMIT_FAILED', 'not-executed', error('40P01')],
      ['57014', 'FENCE_COMMIT_FAILED', 'not-executed', error('57014')],
      ['55P03', 'FENCE_COMMIT_FAILED', 'not-executed', error('55P03')],
      ['42P01', 'FENCE_COMMIT_FAILED', 'not-executed', error('42P01')],
      ['XX000', 'FENCE_COMMIT_FAILED', 'not-executed', error('XX000')],
      ['P0001', 'FENCE_COMMIT_FAILED', 'not-executed', error('P0001')],
    ])('F6: %s is %s, outcome %s', async (_answer, code, outcome, answer) => {
      const { fence, database, journal, events } = sectionWorld(kind)
      database.at('COMMIT', fails(answer))
      const failure = await rejection(fence.run('a', (tx) => tx.query('UPDATE one')))
      expect(failure).toMatchObject({ code, outcome, cause: answer })
      expect(journal.slice(-3)).toEqual(['COMMIT', 'destroy', 'release a']) // F13
      expect(events).toEqual([{ name: 'connection-destroyed', event: { error: answer } }])
    })

    test('F6: a section of unknown outcome is never run again', async () => {
      for (const answer of [new Error('Connection terminated'), error('40003'), fatal('57P01')]) {
        const { fence, database, host } = sectionWorld(kind)
        database.at('COMMIT', fails(answer))
        await rejection(fence.run('a', { retries: 5 }, () => undefined))
        expect(host.claims).toHaveLength(1)
      }
    })

    test('F6: an error without an answer before COMMIT is not an unknown COMMIT', async () => {
      const lost = new Error('Connection terminated')
      const { fence, database } = sectionWorld(kind)
      database.at('UPDATE one', fails(lost))
      expect(await rejection(fence.run('a', (tx) => tx.query('UPDATE one')))).toBe(lost)
    })
  })

  const caught = async (tx: RecordedHandle) => {
    await tx.query('UPDATE one')
    await tx.query('UPDATE bad').catch(() => undefined)
  }

  test.each(['23505', '40P01', '57014'])(
    'F12: an error %s that the work caught aborts the section: FENCE_TX_ABORTED, no COMMIT, nothing written',
    async (sqlState) => {
      const { fence, database, journal } = sectionWorld(kind)
      const failure = error(sqlState)
      database.at('UPDATE bad', fails(failure))
      expect(await rejection(fence.run('a', caught))).toMatchObject({
        code: 'FENCE_TX_ABORTED',
        outcome: 'not-executed',
        cause: failure,
      })
      expect(journal).not.toContain('COMMIT')
      expect(journal.slice(-3)).toEqual(['ROLLBACK', 'give back', 'release a'])
      expect(database.committed).toEqual([])
    },
  )

  test.each([
    'COMMIT',
    'ROLLBACK',
    'COMMIT; BEGIN',
    'ROLLBACK; BEGIN',
    'COMMIT AND CHAIN',
    'ROLLBACK AND CHAIN',
    'ROLLBACK AND CHAIN; SAVEPOINT s; ROLLBACK TO s',
  ])('F12: work that ends its transaction by %s is FENCE_TX_ENDED, outcome unknown', async (script) => {
    const statements = script.split('; ')
    const { fence, database, sent } = sectionWorld(kind)
    const failure = await rejection(
      fence.run('a', async (tx) => {
        await tx.query('UPDATE before')
        for (const statement of statements) await tx.query(statement)
        await tx.query('UPDATE after')
      }),
    )
    expect(failure).toMatchObject({ code: 'FENCE_TX_ENDED', outcome: 'unknown' })
    // What the stray COMMIT wrote stands; what came after it is autocommitted only where no transaction was open.
    expect(database.committed.includes('UPDATE before')).toBe(script.startsWith('COMMIT'))
    expect(sent().slice(-2)).toEqual(['ROLLBACK', 'give back'])
  })

  test('F12: savepoints are allowed, also after an error that one of them undid', async () => {
    const { fence, database, sent } = sectionWorld(kind)
    database.at('UPDATE bad', fails(error('23505')))
    await fence.run('a', async (tx) => {
      await tx.query('UPDATE one')
      await tx.query('SAVEPOINT s')
      await tx.query('UPDATE bad').catch(() => undefined)
      await tx.query('ROLLBACK TO s')
      await tx.query('UPDATE two')
    })
    expect(database.committed).toContain('UPDATE two')
    // The status does not tell ROLLBACK TO from ROLLBACK AND CHAIN, so here both ways ask for the identity.
    expect(sent().slice(-3)).toEqual(['identity', 'COMMIT', 'give back'])
  })

  test('F12: a connection that was lost behind a caught error never reports success', async () => {
    const { fence, database, journal } = sectionWorld(kind)
    const lost = fatal('57P01')
    database.at('UPDATE bad', fails(lost))
    expect(await rejection(fence.run('a', caught))).toBe(lost)
    expect(journal).not.toContain('COMMIT')
    expect(journal.slice(-2)).toEqual(['destroy', 'release a'])
  })

  test('F12: an identity check that gets no answer is no success either', async () => {
    const { fence, database, journal } = sectionWorld(kind)
    const lost = new Error('Connection terminated')
    database.at('identity', fails(lost))
    const failure = await rejection(
      fence.run('a', async (tx) => {
        await tx.query('SAVEPOINT s')
        await tx.query('ROLLBACK TO s')
      }),
    )
    expect(failure).toBe(lost)
    expect(journal).not.toContain('COMMIT')
  })

  test('F13: a connection whose ROLLBACK failed is destroyed, and the first error is thrown', async () => {
    const { fence, database, journal, events } = sectionWorld(kind)
    const first = new Error('the work failed')
    const second = new Error('Connection terminated')
    database.at('ROLLBACK', fails(second))
    expect(
      await rejection(
        fence.run('a', () => {
          throw first
        }),
      ),
    ).toBe(first)
    expect(journal.slice(-3)).toEqual(['ROLLBACK', 'destroy', 'release a'])
    expect(events).toEqual([{ name: 'connection-destroyed', event: { error: second } }])
  })

  test('F13: a BEGIN that fails is the caller’s error, and the connection is destroyed where it is lost', async () => {
    const { fence, database, journal } = sectionWorld(kind)
    const lost = fatal('57P01')
    database.at('BEGIN', fails(lost))
    expect(await rejection(fence.run('a', () => undefined))).toBe(lost)
    expect(journal).not.toContain('claim a')
    expect(journal.slice(-2)).toEqual(['destroy', 'release a'])
  })
})
