import type { Type } from '@nestjs/common';
import type { MigrationInterface } from 'typeorm';

/** The name under which the database remembers a migration. */
export function migrationName(migration: Type<MigrationInterface>): string {
  return new migration().name ?? migration.name;
}

/** The 13 digits that end a migration's name and order it among all others; undefined for one without. */
export function migrationPlace(migration: Type<MigrationInterface>): string | undefined {
  return /\d{13}$/.exec(migrationName(migration))?.[0];
}
