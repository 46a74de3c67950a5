import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Database } from './database.js';
import { DatabaseMetrics } from './database-metrics.js';
import { StatementObservers } from './statement-observers.js';
import { TableRegistry, type Tables } from './table-registry.js';

@Global()
@Module({
  providers: [Database, DatabaseMetrics, StatementObservers, TableRegistry],
  exports: [Database, DatabaseMetrics, StatementObservers, TableRegistry],
})
class DatabaseCoreModule {}

const TABLES = Symbol('tables');

/** The database, and the place where modules register what they keep in it. */
@Module({ imports: [DatabaseCoreModule] })
export class DatabaseModule {
  /**
   * Registers a module's entities and migrations: `imports: [DatabaseModule.forFeature({ entities, migrations })]`.
   * Its providers then use `Database.repository(Entity)`.
   */
  static forFeature(tables: Tables): DynamicModule {
    const registration = {
      provide: TABLES,
      inject: [TableRegistry],
      useFactory: (registry: TableRegistry) => {
        registry.add(tables);
      },
    };
    return { module: DatabaseModule, providers: [registration] };
  }
}
