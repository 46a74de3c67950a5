import type { Configuration } from '../../config/configuration.js';
import { type Check, failed, type Finding, ok, skipped, warning } from '../check.js';
import { allOf } from '../worst-of.js';
import type { DatabaseAccess } from './database-access.js';
import { MIGRATIONS_TABLE, pendingIn } from './migrations.js';
import { tablesOf } from './tables.js';

/** Which tables are there. */
const PRESENT = 'SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NOT NULL';

/** What the role may not do with these. */
const MISSING = `
  SELECT name, string_agg(privilege, ', ') AS privileges, bool_or(privilege IN ('SELECT', 'INSERT')) AS vital
  FROM unnest($1::text[]) AS name, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege
  WHERE NOT has_table_privilege(to_regclass(name), privilege)
  GROUP BY name ORDER BY name`;

interface MissingRights {
  name: string;
  privileges: string;
  vital: boolean;
}

/** Whether the role of the service may do with its tables what modules do. */
export function rightsCheck(access: DatabaseAccess): Check {
  return {
    name: 'database.rights',
    needs: ['database.migrations'],
    run: async () => {
      const tables = tablesOf(await access.dataSource());
      const present = await access.query<{ name: string }>(PRESENT, [tables]);
      if (present.length === 0) {
        return skipped('there are no tables yet');
      }
      const missing = await access.query<MissingRights>(MISSING, [tables]);
      const faults = missing.map(({ name, privileges, vital }) => {
        const [found, mend] = [`no right to ${privileges} on ${name}`, `GRANT ${privileges} ON ${name} TO the role.`] as const;
        // Some tables are only ever added to.
        return vital ? failed(found, mend) : warning(found, mend);
      });
      return allOf(faults, ok(`reads and writes ${present.length} tables`));
    },
  };
}

interface SchemaRights {
  schema: string | null;
  creates: boolean | null;
}

/** Whether migrations could be applied: asked on the way that they take, and only if there are any. */
export function migratingRightsCheck(
  access: DatabaseAccess,
  needs: readonly string[],
  { MIGRATE_ON_START }: Configuration,
): Check {
  const fault = (found: string, mend: string): Finding =>
    MIGRATE_ON_START ? failed(found, mend) : warning(`${found}, so that migrate needs another one`, mend);
  return {
    name: 'database.rights.migrate',
    needs,
    run: async () => {
      if ((await pendingIn(access)).length === 0) {
        return skipped('there are no migrations to apply');
      }
      const { schema, creates } = await access.row<SchemaRights>(
        `SELECT current_schema() AS schema, has_schema_privilege(current_schema(), 'CREATE') AS creates`,
      );
      if (schema === null) {
        return fault(
          'this role may use no schema of its search_path',
          'Create one, or GRANT USAGE, CREATE ON SCHEMA … TO the role.',
        );
      }
      const foreign = await access.query<{ name: string }>(
        `SELECT name FROM unnest($1::text[]) AS name JOIN pg_class ON pg_class.oid = to_regclass(name)
         WHERE NOT pg_has_role(relowner, 'USAGE')`,
        [[...tablesOf(await access.dataSource()), MIGRATIONS_TABLE]],
      );
      const faults = [
        creates === true
          ? []
          : fault(`this role may not create tables in schema ${schema}`, `GRANT CREATE ON SCHEMA ${schema} TO the role.`),
        foreign.length === 0
          ? []
          : fault(
              `this role does not own ${foreign.map(({ name }) => name).join(', ')}`,
              'Migrate as the role that does, or GRANT that role to this one.',
            ),
      ];
      return allOf(faults.flat(), ok(`may create in schema ${schema}`));
    },
  };
}
