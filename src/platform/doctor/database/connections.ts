import type { Configuration } from '../../config/configuration.js';
import { type Check, ok, skipped, warning } from '../check.js';
import type { DatabaseAccess } from './database-access.js';

/** The least of all limits that hold for this role; superusers have connections of their own left. */
const STATEMENT = `
  SELECT least(
           current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
             - coalesce(current_setting('reserved_connections', true)::int, 0),
           (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
           (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
         ) AS most,
         (SELECT sum(numbackends)::int FROM pg_stat_database) AS used`;

/** One migrator, beside the services. */
const MIGRATORS = 1;

/** Whether PostgreSQL takes as many connections as all replicas may make. */
export function connectionsCheck(access: DatabaseAccess, configuration: Configuration): Check {
  const { DATABASE_POOL_SIZE: pool, DATABASE_DIRECT_URL, RATE_LIMIT_REPLICAS: replicas } = configuration;
  return {
    name: 'database.connections',
    needs: ['database.connection'],
    run: async () => {
      if (DATABASE_DIRECT_URL !== undefined) {
        return skipped('a pooler shares them out');
      }
      const { most, used } = await access.row<{ most: number; used: number }>(STATEMENT);
      const needed = pool * replicas + MIGRATORS;
      const found = `${replicas} × ${pool} and ${MIGRATORS} for migrate of ${most}, ${used} in use now`;
      return needed <= most
        ? ok(found)
        : warning(
            `${found}: under load, connections are refused`,
            `Lower DATABASE_POOL_SIZE, raise max_connections or the limit of the role or the database above ${needed}, ` +
              'or use PgBouncer with DATABASE_DIRECT_URL.',
          );
    },
  };
}
