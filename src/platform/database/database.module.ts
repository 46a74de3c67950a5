import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AppDataSource, type PostgresDataSourceOptions } from './app-data-source.js';
import { Database } from './database.js';
import { DatabaseMetrics } from './database-metrics.js';
import { POSTGRES_DRIVER } from './database-pool.js';
import { ExclusiveWork } from './exclusive-work.js';
import { MigrationsModule } from './migrations.js';
import { AddMigrationDigests1767225600010 } from './migrations/1767225600010-add-migration-digests.js';

/** TypeORM on PostgreSQL. `TypeOrmModule.forFeature`, `@InjectRepository` and `@InjectDataSource` work in every module. */
@Global()
@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      // `Database` sets the other options and connects in the background with retries.
      useFactory: () => ({
        type: 'postgres',
        driver: POSTGRES_DRIVER,
        autoLoadEntities: true,
        manualInitialization: true,
      }),
      dataSourceFactory: (options) => Promise.resolve(new AppDataSource(options as PostgresDataSourceOptions)),
    }),
    MigrationsModule.forFeature([AddMigrationDigests1767225600010]),
  ],
  providers: [Database, ExclusiveWork, DatabaseMetrics],
  exports: [Database],
})
export class DatabaseModule {}
