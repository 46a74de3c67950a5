import { type DynamicModule, Injectable, Module, type Type } from '@nestjs/common';
import type { MigrationInterface } from 'typeorm';

/** What modules keep in the database. */
export interface Tables {
  readonly entities: Type[];
  readonly migrations: Type<MigrationInterface>[];
}

@Injectable()
export class Migrations {
  readonly all: Type<MigrationInterface>[] = [];
}

const REGISTRATION = Symbol('migrations');

/** Where modules name their migrations, as they name their entities with `TypeOrmModule.forFeature`. */
@Module({})
export class MigrationsModule {
  /**
   * Registers the migrations of a module: `imports: [MigrationsModule.forFeature([CreateWidgets1795219200000])]`.
   *
   * @param migrations - classes, whose names end in 13 digits, milliseconds since 1970, that order all migrations of all modules
   */
  static forFeature(migrations: readonly Type<MigrationInterface>[]): DynamicModule {
    const registration = {
      provide: REGISTRATION,
      inject: [Migrations],
      useFactory: ({ all }: Migrations) => all.push(...migrations.filter((migration) => !all.includes(migration))),
    };
    return { module: MigrationsModule, providers: [registration] };
  }
}
