import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A migration that is never taken back. The class name ends in 13 digits, milliseconds since 1970, that give its place in the order. */
export abstract class ForwardMigration implements MigrationInterface {
  abstract up(runner: QueryRunner): Promise<void>;

  down(): Promise<void> {
    throw new Error('Migrations go forward only. Write a new migration that undoes this one.');
  }
}
