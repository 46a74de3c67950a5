import { Pool } from 'pg';
import { settings } from './settings.ts';

/** Connections that are idle are kept as long as the service keeps them, so that nobody has to open new ones in its turn. */
export const database = new Pool({ connectionString: settings.databaseUrl, max: settings.poolSize, idleTimeoutMillis: 30_000 });
