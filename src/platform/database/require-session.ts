import type { DataSource } from 'typeorm';
import { OperatorError } from '../errors/operator-error.js';
import type { DatabaseClientConfig } from './database-client.js';

/**
 * SQL that is true if the connection has its startup parameters, which a pooler can ignore. The source `client` is the
 * connection itself: a limit of the role would not prove that there is no pooler.
 */
export const HAS_PARAMETERS = `(SELECT source = 'client' FROM pg_settings
  WHERE name = 'idle_in_transaction_session_timeout')`;

/** What to do if {@link HAS_PARAMETERS} is false. */
export const POOLER_REMEDY = 'A pooler ignores startup parameters: set DATABASE_DIRECT_URL to the address of the server.';

/**
 * Ends the start behind a pooler that was not declared: settings and prepared statements would reach the sessions of others.
 *
 * @throws OperatorError
 */
export async function requireSession(dataSource: DataSource): Promise<void> {
  const { hasSession } = dataSource.options.extra as DatabaseClientConfig;
  if (!hasSession) {
    return;
  }
  const [row] = await dataSource.query<{ hasParameters: boolean }[]>(`SELECT ${HAS_PARAMETERS} AS "hasParameters"`);
  if (!row?.hasParameters) {
    throw new OperatorError(POOLER_REMEDY);
  }
}
