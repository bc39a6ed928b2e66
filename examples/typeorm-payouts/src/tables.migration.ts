import type { MigrationInterface, QueryRunner } from 'typeorm'

export class Tables1767225600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE account (id text PRIMARY KEY, opening integer NOT NULL, balance integer NOT NULL)')
    await runner.query(
      'CREATE TABLE payout (id text PRIMARY KEY, account_id text NOT NULL REFERENCES account (id), amount integer NOT NULL)',
    )
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE payout')
    await runner.query('DROP TABLE account')
  }
}
