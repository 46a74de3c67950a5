import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Configuration } from '../config/configuration.js';
import { AppDataSource } from './app-data-source.js';
import { dataSourceOptions, type PostgresDataSourceOptions, primaryOf } from './data-source-options.js';
import { Database } from './database.js';
import { DatabaseMetrics, StatementObservers } from './database-metrics.js';
import { Migrations } from './migrations.module.js';

/** TypeORM on PostgreSQL: `TypeOrmModule.forFeature`, `@InjectRepository` and `@InjectDataSource` work in all modules. */
@Global()
@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      inject: [Configuration, StatementObservers],
      useFactory: (configuration: Configuration, { observe }: StatementObservers) => ({
        ...dataSourceOptions(configuration, primaryOf(configuration), observe),
        autoLoadEntities: true,
        // `Database` connects in the background, as often as it takes.
        manualInitialization: true,
      }),
      dataSourceFactory: (options) => Promise.resolve(new AppDataSource(options as PostgresDataSourceOptions)),
    }),
  ],
  providers: [Database, DatabaseMetrics, StatementObservers, Migrations],
  exports: [Database, StatementObservers, Migrations],
})
export class DatabaseModule {}
