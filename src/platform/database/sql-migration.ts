import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A forward-only migration in plain SQL. Old code must go on working on the new schema and new code must not need what a
 * later migration brings (expand, then contract), because replicas of both run side by side during a roll-out.
 *
 * The class name ends in 13 digits, milliseconds since 1970, that give its place in the order.
 */
export abstract class SqlMigration implements MigrationInterface {
  /** Run one after the other. */
  protected abstract readonly statements: readonly string[];

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of this.statements) {
      await runner.query(statement);
    }
  }

  down(): Promise<void> {
    throw new Error('Migrations go forward only. Write a new migration that undoes this one.');
  }
}
