import { type DynamicModule, Injectable, Module, type Type } from '@nestjs/common';
import type { MigrationInterface } from 'typeorm';

@Injectable()
export class Migrations {
  readonly all: Type<MigrationInterface>[] = [];
}

const REGISTRATION = Symbol('migrations');

/** Registers migrations, as `TypeOrmModule.forFeature` registers entities. */
@Module({})
export class MigrationsModule {
  /**
   * `imports: [MigrationsModule.forFeature([CreateWidgets1795219200000])]`
   *
   * @param migrations - classes whose names end in 13 digits (milliseconds since 1970), which order the migrations of all modules
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
