import type { Configuration } from '../../config/configuration.js';
import { type Check, failed, type Finding, ok, skipped, warning } from '../check.js';
import { allOf } from '../worst-of.js';
import { connected } from './connection.js';
import type { DatabaseAccess } from './database-access.js';
import { isSameDatabase } from './identity.js';

/** Whether `DATABASE_DIRECT_URL` leads to the same database, past the pooler. @param direct - undefined when it is unset */
export function directCheck(pooled: DatabaseAccess, direct: DatabaseAccess | undefined): Check {
  return {
    name: 'database.direct',
    needs: ['database.connection'],
    run: async () => {
      if (!direct) {
        return skipped('DATABASE_DIRECT_URL is unset');
      }
      const finding = await connected(direct);
      if (finding.status === 'ok' && !(await isSameDatabase(pooled, direct))) {
        return failed(
          `${finding.found}: another database than that at DATABASE_URL`,
          'Lead both URLs to one database: migrations go to this one.',
        );
      }
      return finding;
    },
  };
}

interface RoleSetting {
  name: string;
  setting: number;
}

/** Whether the role brings the time-outs that connections to a pooler cannot set. */
export function poolerCheck(pooled: DatabaseAccess, configuration: Configuration): Check {
  const { DATABASE_DIRECT_URL, DATABASE_STATEMENT_TIMEOUT } = configuration;
  const statement = `
    SELECT name, setting::int FROM pg_settings
    WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') ORDER BY name`;
  return {
    name: 'database.pooler',
    needs: ['database.connection'],
    run: async () => {
      if (DATABASE_DIRECT_URL === undefined) {
        return skipped('DATABASE_DIRECT_URL is unset');
      }
      const settings = await pooled.query<RoleSetting>(statement);
      const wanted = DATABASE_STATEMENT_TIMEOUT * 1000;
      return allOf(
        settings.flatMap((setting) => judgeRoleSetting(setting, wanted)),
        ok(settings.map(({ name, setting }) => `${name} ${setting} ms`).join(', ')),
      );
    },
  };
}

/** @param statementTimeout - in milliseconds, as the service has it. @returns what is wrong, if anything */
export function judgeRoleSetting({ name, setting }: RoleSetting, statementTimeout: number): Finding[] {
  const wanted = name === 'lock_timeout' ? statementTimeout / 2 : statementTimeout;
  const mend = `ALTER ROLE … SET ${name} = '${wanted}ms', and reconnect the pooler.`;
  if (setting === 0) {
    return [warning(`${name} is not set: what the service has given up goes on in the database`, mend)];
  }
  const isShort = name === 'statement_timeout' && setting < statementTimeout;
  return isShort
    ? [warning(`${name} ${setting} ms ends statements before DATABASE_STATEMENT_TIMEOUT, ${statementTimeout} ms`, mend)]
    : [];
}
