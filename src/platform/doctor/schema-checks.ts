import { type DataSource, MigrationExecutor } from 'typeorm';
import type { Configuration } from '../config/configuration.js';
import { pendingMigrations } from '../database/app-data-source.js';
import { quotedTable } from '../database/database-client.js';
import { type Difference, findDrift } from '../database/schema-drift.js';
import { findMissingRights } from '../database/table-rights.js';
import { findMissingIndexes } from '../lists/required-indexes.js';
import { type Check, selecting, type Severity } from './check.js';

/** SQL of `found` in checks of rights: the role and the schema. */
const ROLE = `format('%s in schema %s', current_user, coalesce(current_schema(), '(none)')) AS found`;

/** Checks the right to see migrations, whether some are pending and, if so, the rights to apply them. */
export function migrationsCheck(dataSource: DataSource, { MIGRATE_ON_START }: Configuration): Check {
  const check = selecting(dataSource);
  const rights = check(
    'rights.migrate',
    MIGRATE_ON_START ? 'fail' : 'warn',
    'Run GRANT CREATE ON SCHEMA <schema> TO <role>, or run migrate as the role that owns the tables.',
    `has_schema_privilege(current_schema(), 'CREATE') AND NOT EXISTS
        (SELECT FROM pg_class WHERE oid = to_regclass('migrations') AND NOT pg_has_role(relowner, 'USAGE')) AS fine,
        ${ROLE}`,
  );
  return check(
    'rights.read',
    'fail',
    'Run GRANT SELECT ON migrations TO <role> as the role that owns the table. Without a schema, correct search_path, or ' +
      'run GRANT USAGE ON SCHEMA <schema> TO <role>.',
    `current_schema() IS NOT NULL AND coalesce(has_table_privilege(to_regclass('migrations'), 'SELECT'), true) AS fine,
      ${ROLE}`,
    [pendingCheck(dataSource, MIGRATE_ON_START, rights)],
  );
}

/** Checks whether the role sees all rows of the tables. */
function rowsCheck(dataSource: DataSource): Check {
  const tables = dataSource.entityMetadatas.map((metadata) => `'${quotedTable(metadata)}'`).join();
  const isActive = 'row_security_active(table_name)';
  return selecting(dataSource)(
    'rights.rows',
    'warn',
    'Policies hide rows without an error: run ALTER TABLE <table> DISABLE ROW LEVEL SECURITY, or ALTER ROLE <role> ' +
      'BYPASSRLS.',
    `NOT bool_or(${isActive}) AS fine,
      coalesce('row security is active: ' || string_agg(table_name, ', ') FILTER (WHERE ${isActive}), 'no row security')
        AS found
      FROM unnest(ARRAY[${tables}]) AS table_name`,
  );
}

/** @param rights - checked while migrations are pending */
function pendingCheck(dataSource: DataSource, migratesOnStart: boolean, rights: Check): Check {
  return {
    name: 'database.migrations',
    advice: 'Run migrate.',
    severity: 'warn',
    run: async () => {
      const pending = await pendingMigrations(dataSource);
      const known = new Set(dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name));
      const applied = (await new MigrationExecutor(dataSource).getExecutedMigrations()).map(({ name }) => name);
      const newer = applied.filter((name) => !known.has(name));
      const others = newer.length === 0 ? '' : `; of a newer version: ${newer.join(', ')}`;
      if (pending.length === 0) {
        const drift = Map.groupBy(await findDrift(dataSource), ({ isFault }) => isFault);
        const ofUse = [rowsCheck(dataSource), driftCheck('indexes', 'Run the SQL.', () => findMissingIndexes(dataSource))];
        const grant = 'Grant the rights that the service needs.';
        const use = driftCheck('rights.use', grant, () => findMissingRights(dataSource), ofUse);
        const fix = 'Run the SQL, or a version that fits the database.';
        const schema = driftCheck('schema', fix, () => drift.get(true), [use]);
        const rest = driftCheck('drift', 'Let the entities and the database agree.', () => drift.get(false));
        return { fine: true, found: `nothing to apply${others}`, next: [schema, rest] };
      }
      const advice = migratesOnStart ? '; run migrate, or start the service' : '';
      const found = `pending: ${pending.join(', ')}${others}${advice}`;
      return { fine: migratesOnStart, found, next: [rights] };
    },
  };
}

/** Compares the entities with the database. */
function driftCheck(
  name: string,
  advice: string,
  find: () => Promise<Difference[]> | Difference[] | undefined,
  next: readonly Check[] = [],
): Check {
  const run = async () => {
    // Faults first.
    const differences = ((await find()) ?? []).toSorted((a, b) => Number(b.isFault) - Number(a.isFault));
    const found = differences.map(({ text }) => text).join('\n');
    const severity: Severity = differences[0]?.isFault ? 'fail' : 'warn';
    return { fine: found === '', found: found || 'as the entities need it', severity, next };
  };
  return { name: `database.${name}`, advice, run };
}
