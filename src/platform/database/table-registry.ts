import { Injectable, type Type } from '@nestjs/common';
import type { MigrationInterface, ObjectLiteral } from 'typeorm';
import { tableNameOf } from './table-name.js';

/** What a module keeps in the database. */
export interface Tables {
  /** TypeORM entity classes. */
  entities: readonly Type<ObjectLiteral>[];
  /** Migration classes; the 13 digits that end a class's name order all migrations of all modules. */
  migrations: readonly Type<MigrationInterface>[];
}

/** Collects the tables of every module while the application is put together. */
@Injectable()
export class TableRegistry {
  readonly entities: Type<ObjectLiteral>[] = [];
  readonly migrations: Type<MigrationInterface>[] = [];

  /** @throws Error when a table or the place of a migration is taken, or a migration has none */
  add(tables: Tables): void {
    tables.entities.forEach((entity) => this.addEntity(entity));
    tables.migrations.forEach((migration) => this.addMigration(migration));
  }

  private addEntity(entity: Type<ObjectLiteral>): void {
    const path = pathOf(entity);
    const other = this.entities.find((registered) => path !== undefined && pathOf(registered) === path);
    if (other) {
      throw new Error(
        other === entity
          ? `The entity ${entity.name} is registered twice: leave it to the module that it belongs to.`
          : `The entities ${other.name} and ${entity.name} are both kept in the table ${path}: give one of them another, as in @Entity('…').`,
      );
    }
    this.entities.push(entity);
  }

  private addMigration(migration: Type<MigrationInterface>): void {
    const name = migrationName(migration);
    const place = migrationPlace(migration);
    if (place === undefined) {
      throw new Error(
        `The name of the migration ${name} must end in the 13 digits that order it: the milliseconds since 1970 at which it was written, as in ${name}${Date.now()}.`,
      );
    }
    const other = this.migrations.find((registered) => migrationPlace(registered) === place);
    if (other) {
      throw new Error(
        other === migration
          ? `The migration ${name} is registered twice: leave it to the module that it belongs to.`
          : `The migrations ${migrationName(other)} and ${name} end in the same 13 digits, so that their order is undefined: give the one that no database has yet others.`,
      );
    }
    this.migrations.push(migration);
  }
}

function pathOf(entity: Type): string | undefined {
  const table = tableNameOf(entity);
  return table && [table.schema, table.name].filter((name) => name !== undefined).join('.');
}

/** The name under which the database remembers a migration. */
export function migrationName(migration: Type<MigrationInterface>): string {
  return new migration().name ?? migration.name;
}

/** The 13 digits that end a migration's name and order it among all others; undefined for one without. */
export function migrationPlace(migration: Type<MigrationInterface>): string | undefined {
  return /\d{13}$/.exec(migrationName(migration))?.[0];
}
