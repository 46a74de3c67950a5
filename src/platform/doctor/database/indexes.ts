import { IndexMigration, type IndexDescription } from '../../database/index-migration.js';
import { migrationName } from '../../database/migration-place.js';
import type { TableRegistry } from '../../database/table-registry.js';
import { type Check, type Finding, ok, warning } from '../check.js';
import { allOf } from '../worst-of.js';
import type { DatabaseAccess } from './database-access.js';
import { pendingIn } from './migrations.js';
import { quoted, tablesOf } from './tables.js';

/** The indexes of these tables, and whether somebody is building them now. */
const STATEMENT = `
  SELECT relname AS name, indisvalid AS valid,
         EXISTS (SELECT FROM pg_stat_progress_create_index WHERE index_relid = indexrelid) AS building
  FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
  WHERE indrelid IN (SELECT to_regclass(name) FROM unnest($1::text[]) AS name)
  ORDER BY relname`;

interface Index {
  name: string;
  valid: boolean;
  building: boolean;
}

/** Whether the indexes are there that migrations built, and no others are left unfinished. */
export function indexesCheck(access: DatabaseAccess, tables: TableRegistry): Check {
  return {
    name: 'database.indexes',
    needs: ['database.migrations'],
    run: async () => {
      const indexes = await access.query<Index>(STATEMENT, [tablesOf(await access.dataSource())]);
      const pending = await pendingIn(access);
      const expected = indexMigrations(tables).filter(({ name }) => !pending.includes(name));
      const missing = expected.filter(({ index }) => !indexes.some(({ name }) => name === index));
      const unfinished = indexes.filter(({ valid, building }) => !valid && !building);
      const building = indexes.filter((index) => index.building).map(({ name }) => `${name} is being built`);
      return allOf(
        [...missing.map(missingIndex), ...unfinished.map(unfinishedIndex)],
        ok([`${indexes.length} usable`, ...building].join(', ')),
      );
    },
  };
}

/** The indexes of migrations, with the names of these. */
export function indexMigrations({ migrations }: TableRegistry): (IndexDescription & { name: string })[] {
  return migrations.flatMap((migration) => {
    const instance = new migration();
    return instance instanceof IndexMigration ? { ...instance.describe(), name: migrationName(migration) } : [];
  });
}

/** It was left out when its extension could not be had, or dropped since. */
function missingIndex({ index, definition, extension }: IndexDescription): Finding {
  const before = extension === undefined ? '' : `CREATE EXTENSION IF NOT EXISTS ${quoted(extension)}; `;
  return warning(
    `${index} is missing: filters that need it read whole tables, until they are refused`,
    `${before}CREATE INDEX CONCURRENTLY ${quoted(index)} ${definition}`,
  );
}

function unfinishedIndex({ name }: Index): Finding {
  return warning(
    `${name} was left unfinished: it slows writes down and helps nobody`,
    `If its migration is yet to be applied, migrate builds it anew. Otherwise: REINDEX INDEX CONCURRENTLY ${quoted(name)}, ` +
      'or drop it if it ends in _ccnew or _ccold.',
  );
}
