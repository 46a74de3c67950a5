import '#service/platform/config/prepare-process';
import 'reflect-metadata';
import { DataSource } from 'typeorm';
import { createContext } from '#service/app';
import { loadEnvironment, readConfiguration } from '#service/platform/config/read-configuration';
import { Database } from '#service/platform/database/database';

// For TypeORM's own commands, after `npm run build`, such as `npx typeorm query -d ormconfig.ts "SELECT 1"`. The database, entities
// and migrations are the service's. To apply migrations use `npm run migrate`, which keeps replicas from colliding.
const context = await createContext(readConfiguration(loadEnvironment()));

export default new DataSource(await context.get(Database).options());
