import { MigrationExecutor } from 'typeorm';
import type { Configuration } from '../../config/configuration.js';
import { migrationName } from '../../database/migration-place.js';
import { pendingMigrations } from '../../database/migrate.js';
import type { TableRegistry } from '../../database/table-registry.js';
import { type Check, failed, ok, warning } from '../check.js';
import type { DatabaseAccess } from './database-access.js';

/** Where TypeORM notes the migrations that were applied. */
export const MIGRATIONS_TABLE = 'migrations';

/** Whether the database has the migrations of this version, and of this one alone. */
export function migrationsCheck(access: DatabaseAccess, tables: TableRegistry, { MIGRATE_ON_START }: Configuration): Check {
  return {
    name: 'database.migrations',
    needs: ['database.connection'],
    run: async () => {
      // TypeORM takes a table for missing that the role may not see.
      const { hidden } = await access.row<{ hidden: boolean }>(
        `SELECT coalesce(NOT has_table_privilege(to_regclass($1), 'SELECT'), false) AS hidden`,
        [MIGRATIONS_TABLE],
      );
      if (hidden) {
        return failed('this role may not read which migrations were applied', `GRANT SELECT ON ${MIGRATIONS_TABLE} TO the role.`);
      }
      const dataSource = await access.dataSource();
      const pending = await pendingMigrations(dataSource);
      const known = new Set(tables.migrations.map(migrationName));
      const applied = await new MigrationExecutor(dataSource).getExecutedMigrations();
      const newer = applied.map(({ name }) => name).filter((name) => !known.has(name));
      const notes = [
        pending.length === 0 ? `all ${known.size} applied` : `${pending.length} of ${known.size} to apply: ${pending.join(', ')}`,
        newer.length === 0 ? [] : `of a newer version, which this one can live with: ${newer.join(', ')}`,
      ];
      const found = notes.flat().join('\n');
      if (pending.length === 0) {
        return ok(found);
      }
      return MIGRATE_ON_START
        ? ok(`${found}; the start applies them`)
        : warning(`${found}; the service is not ready before`, 'Run the command migrate.');
    },
  };
}

/** The migrations that are yet to be applied to what an access leads to. */
export async function pendingIn(access: DatabaseAccess): Promise<string[]> {
  return pendingMigrations(await access.dataSource());
}
