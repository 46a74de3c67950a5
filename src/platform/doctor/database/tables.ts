import type { DataSource } from 'typeorm';
import { OperatorError } from '../../config/operator-error.js';
import { checkTables } from '../../database/check-tables.js';
import { type Check, failed, ok, skipped } from '../check.js';
import type { DatabaseAccess } from './database-access.js';
import { pendingIn } from './migrations.js';

/** Whether the tables have what the entities name. */
export function tablesCheck(access: DatabaseAccess): Check {
  return {
    name: 'database.tables',
    needs: ['database.migrations'],
    run: async () => {
      if ((await pendingIn(access)).length > 0) {
        return skipped('there are migrations to apply before');
      }
      const dataSource = await access.dataSource();
      try {
        await checkTables(dataSource);
        return ok(`fit the ${dataSource.entityMetadatas.length} entities`);
      } catch (error) {
        if (!(error instanceof OperatorError)) {
          throw error;
        }
        const [found = '', ...advice] = error.message.split(/(?<=\.) /);
        return failed(found, advice.join(' '));
      }
    },
  };
}

/** The tables of all entities, quoted, each once. */
export function tablesOf({ entityMetadatas }: DataSource): string[] {
  return [...new Set(entityMetadatas.map(({ tablePath }) => tablePath.split('.').map(quoted).join('.')))];
}

/** A name as SQL takes it, whatever it contains. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
