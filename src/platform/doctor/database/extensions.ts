import type { TableRegistry } from '../../database/table-registry.js';
import { type Check, type Finding, ok, skipped, warning } from '../check.js';
import { allOf } from '../worst-of.js';
import type { DatabaseAccess } from './database-access.js';
import { indexMigrations } from './indexes.js';
import { pendingIn } from './migrations.js';
import { quoted } from './tables.js';

/** A trusted extension may be created by whoever may create schemas in the database (PostgreSQL manual, CREATE EXTENSION). */
const STATEMENT = `
  SELECT wanted AS name, extnamespace::regnamespace::text AS schema, has_schema_privilege(extnamespace, 'USAGE') AS usable,
         (SELECT bool_or((trusted AND has_database_privilege(current_database(), 'CREATE')) OR rolsuper)
          FROM pg_available_extension_versions, pg_roles
          WHERE name = wanted AND rolname = current_user) AS creatable
  FROM unnest($1::text[]) AS wanted LEFT JOIN pg_extension ON extname = wanted
  ORDER BY wanted`;

interface Extension {
  name: string;
  schema: string | null;
  usable: boolean | null;
  /** Null where its files are not installed. */
  creatable: boolean | null;
}

/** Whether the extensions are there that indexes need, or migrations could create them. */
export function extensionsCheck(access: DatabaseAccess, needs: readonly string[], tables: TableRegistry): Check {
  return {
    name: 'database.extensions',
    needs,
    run: async () => {
      const wanted = indexMigrations(tables).filter(({ extension }) => extension !== undefined);
      const names = [...new Set(wanted.map(({ extension }) => extension))];
      if (names.length === 0) {
        return skipped('no migration needs one');
      }
      const extensions = await access.query<Extension>(STATEMENT, [names]);
      const pending = await pendingIn(access);
      const isAwaited = ({ name }: Extension) =>
        wanted.some(({ extension, ...index }) => extension === name && pending.includes(index.name));
      return allOf(
        extensions.map((extension) => judge(extension, isAwaited(extension))),
        ok(''),
      );
    },
  };
}

/** @param isAwaited - whether a migration is yet to create it */
function judge({ name, schema, usable, creatable }: Extension, isAwaited: boolean): Finding {
  if (schema !== null) {
    return usable === true
      ? ok(`${name} is there`)
      : warning(
          `${name} is in schema ${schema}, which this role may not use`,
          `GRANT USAGE ON SCHEMA ${schema} TO the role, before migrate.`,
        );
  }
  if (creatable === true && isAwaited) {
    return ok(`${name} can be created`);
  }
  const found = `${name} is not there${creatable === true ? '' : ', and this role may not create it'}: indexes are left out`;
  return creatable === null
    ? warning(`${name} is not installed on the server: indexes are left out`, 'Install it (postgresql-contrib), before migrate.')
    : warning(found, `As a superuser, before migrate: CREATE EXTENSION ${quoted(name)}`);
}
