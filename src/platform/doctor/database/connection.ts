import { type Check, failed, type Finding, ok } from '../check.js';
import { connectionAdvice } from './connection-advice.js';
import type { DatabaseAccess } from './database-access.js';

/** Who is there, as whom we came, and whether others can listen. */
const STATEMENT = `
  SELECT current_user AS "user", current_database() AS database, current_setting('server_version') AS version,
         (SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl) AS tls`;

interface Server {
  user: string;
  database: string;
  version: string;
  tls: string | null;
}

/** Whether a connection to the database at `DATABASE_URL` can be made. */
export function connectionCheck(access: DatabaseAccess): Check {
  return { name: 'database.connection', run: () => connected(access) };
}

/** Connects, and tells to what, or what to do. */
export async function connected(access: DatabaseAccess): Promise<Finding> {
  try {
    const { user, database, version, tls } = await access.row<Server>(STATEMENT);
    return ok(`PostgreSQL ${version}, database ${database} as ${user}, ${tls === null ? 'without TLS' : tls}`);
  } catch (error) {
    const { found, mend } = connectionAdvice(error);
    return failed(found, mend);
  }
}
