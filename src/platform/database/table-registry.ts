import { Injectable, type Type } from '@nestjs/common';
import type { MigrationInterface, ObjectLiteral } from 'typeorm';

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

  add(tables: Tables): void {
    this.entities.push(...tables.entities);
    this.migrations.push(...tables.migrations);
  }
}
