import { Logger } from '@nestjs/common';
import { type DataSource, type EntityMetadata, type QueryRunner, Table, type TableColumn, TableForeignKey } from 'typeorm';
import { OperatorError } from '../errors/operator-error.js';
import { changedMigrations } from './migration-digests.js';
import { quotedTable } from './database-client.js';
import { findMissingKeys } from './table-keys.js';

/** A difference between the database and what the service needs of it, with the SQL that fixes it. */
export interface Difference {
  /** Whether requests fail: a table, column or primary key is missing, or inserts wrongly leave a column null. */
  readonly isFault: boolean;
  readonly text: string;
}

/** A column of an entity and of its table. */
interface Compared {
  /** Index of the entity. */
  readonly entity: number;
  readonly hasTable: boolean;
  /** Name in the entity; null if the entity does not have the column. */
  readonly column: string | null;
  /** Name in the table; null if the table does not have the column. */
  readonly name: string | null;
  readonly type: string;
  readonly isSameType: boolean;
  /** Null for columns of views and for generated ones. */
  readonly isNullable: boolean | null;
  /** Whether a default, an identity or a trigger sets it. */
  readonly isFilled: boolean;
  /** Values of the entity's enumeration that the type in the database lacks. */
  readonly lacking: readonly string[];
}

/** Selects the columns of the entities, and others that break each insert: not nullable, and nothing sets a value. */
const COMPARE = `
  WITH declared AS (SELECT *, to_regclass("table")::oid AS relation FROM json_to_recordset($1)
    AS declared (entity int, "table" text, partial boolean, "column" text, type text, modifier text, labels text[])),
  present AS (SELECT attrelid, attname::text AS name, format_type(atttypid, atttypmod) AS type,
      CASE typtype WHEN 'd' THEN typbasetype ELSE atttypid END AS base,
      CASE typcategory WHEN 'A' THEN typelem ELSE atttypid END AS element,
      CASE WHEN relkind IN ('r', 'p', 'f') AND attgenerated = '' THEN NOT (attnotnull OR typnotnull) END AS nullable,
      atthasdef OR attidentity <> '' OR typdefault IS NOT NULL OR EXISTS (SELECT FROM pg_trigger
        WHERE tgrelid = attrelid AND NOT tgisinternal AND tgtype & 7 = 7) AS filled
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_type ON pg_type.oid = atttypid
    WHERE attrelid IN (SELECT relation FROM declared) AND attnum > 0 AND NOT attisdropped)
  SELECT coalesce(entity, (SELECT min(entity) FROM declared WHERE relation = attrelid)) AS entity,
    coalesce(relation, attrelid) IS NOT NULL AS "hasTable", "column", name, present.type, nullable AS "isNullable",
    filled AS "isFilled", CASE WHEN labels IS NOT NULL THEN EXISTS (SELECT FROM pg_enum WHERE enumtypid = element)
      ELSE base = to_regtype(declared.type)
          AND modifier IN ('', regexp_replace(substring(present.type FROM '[(](.*)[)]'), ',0$', ''))
        OR declared.type IN ('text', 'character varying') AND present.type IN ('text', 'character varying')
      END IS TRUE AS "isSameType",
    ARRAY(SELECT unnest(labels) EXCEPT SELECT enumlabel FROM pg_enum WHERE enumtypid = element) AS lacking
  FROM declared FULL JOIN present ON attrelid = relation AND name = "column"
  WHERE "column" IS NOT NULL
    OR NOT nullable AND NOT filled AND NOT EXISTS (SELECT FROM declared WHERE relation = attrelid AND partial)
  ORDER BY coalesce("column", name)`;

/** Makes a check of the start. It logs differences that are no faults, and throws an OperatorError with all faults. */
export function rejecting(find: (dataSource: DataSource) => Promise<readonly Difference[]>) {
  return async (dataSource: DataSource): Promise<void> => {
    const faults: string[] = [];
    for (const { isFault, text } of await find(dataSource)) {
      if (isFault) faults.push(`- ${text}`);
      else new Logger('Database').warn(text);
    }
    if (faults.length > 0) {
      throw new OperatorError(['The database does not fit the entities:', ...faults].join('\n'));
    }
  };
}

/** Compares the schema before the service is ready. @throws OperatorError with all faults */
export const checkSchema = rejecting(findDrift);

/** Compares the entities with the catalog, and the migrations with their digests. */
export async function findDrift(dataSource: DataSource): Promise<Difference[]> {
  const entities = dataSource.entityMetadatas.filter(({ tableType }) => !['view', 'entity-child'].includes(tableType));
  const mappings = entities.map((metadata) => new Mapping(metadata));
  const declared = JSON.stringify(mappings.flatMap((mapping, index) => mapping.columns(index)));
  const compared = Map.groupBy(await dataSource.query<Compared[]>(COMPARE, [declared]), ({ entity }) => entity);
  const drift: Difference[] = [];
  for (const [index, mapping] of mappings.entries()) {
    const columns = compared.get(index) ?? [];
    if (columns.every(({ hasTable }) => hasTable)) {
      for (const column of columns) drift.push(...(await mapping.compare(column)));
    } else {
      drift.push({ isFault: true, text: await mapping.missingTable() });
    }
  }
  drift.push(...(await findMissingKeys(dataSource, entities)));
  const remedy =
    'was changed after it had been applied, without effect: undo that, and put the change into a new migration.';
  // Changed migrations are the likely cause of faults, and stop the start only together with some.
  const isFault = drift.some((each) => each.isFault);
  const changed = await changedMigrations(dataSource);
  return [...drift, ...changed.map((name) => ({ isFault, text: `${name} ${remedy}` }))];
}

/** An entity and the table that it expects. */
class Mapping {
  private readonly table: Table;
  private readonly path: string;

  constructor(private readonly metadata: EntityMetadata) {
    const { driver } = metadata.dataSource;
    this.table = Table.create(metadata, driver);
    this.path = quotedTable(metadata);
  }

  /** The parameters of `COMPARE`. @param entity - its index */
  columns(entity: number): object[] {
    const { path: table, metadata } = this;
    return this.table.columns.map((column) => ({
      entity,
      table,
      partial: !metadata.synchronize,
      column: column.name,
      type: `${column.type}${column.isArray ? '[]' : ''}`,
      modifier: (/\((.*)\)/.exec(this.typeOf(column))?.[1] ?? '').replace(/,0$/, ''),
      labels: column.enum,
    }));
  }

  async missingTable(): Promise<string> {
    const sql = await this.sqlOf((runner) => runner.createTable(this.table));
    const remedy = 'Register a migration that creates it with MigrationsModule.forFeature(), or correct the search_path:';
    const keys = this.metadata.foreignKeys.map((key) => TableForeignKey.create(key, this.metadata.dataSource.driver));
    const references = await this.sqlOf((runner) => runner.createForeignKeys(this.table, keys));
    const then = references && ` and, when the tables that it refers to exist, ${references}`;
    return `${this.metadata.name}: the table ${this.path} does not exist. ${remedy} ${sql}${then}`;
  }

  async compare({ column: declared, name, ...found }: Compared): Promise<Difference[]> {
    const drift: Difference[] = [];
    const report = (isFault: boolean, text: string) => drift.push({ isFault, text: `${of} ${text}` });
    const column = declared === null ? undefined : this.table.findColumnByName(declared);
    const quoted = this.metadata.dataSource.driver.escape(name ?? declared ?? '');
    const alter = `ALTER TABLE ${this.path} ALTER COLUMN ${quoted}`;
    const of = `${this.metadata.name}: the column ${quoted} of ${this.path}`;
    if (!column) {
      const fault = 'is not in the entity, and may not be null: every insert fails';
      report(true, `${fault}. Add it to the entity, or a migration with ${alter} DROP NOT NULL;`);
    } else if (name === null) {
      const added = Object.assign(column.clone(), { isPrimary: false });
      const sql = await this.sqlOf((runner) => runner.addColumn(this.table, added));
      const hint = column.isNullable || column.default !== undefined ? '' : ' (and a DEFAULT for rows that exist)';
      report(true, `does not exist. Add a migration with ${sql}${hint}`);
    } else if (!found.isSameType) {
      const type = this.typeOf(column);
      const sql = column.enum ? '' : `, or add a migration with ${alter} TYPE ${type} USING ${quoted}::${type};`;
      report(false, `is ${found.type}, and ${type} in the entity: correct its type there${sql}`);
    } else if (found.lacking.length > 0) {
      const values = found.lacking.map((value) => `ALTER TYPE ${found.type.replace('[]', '')} ADD VALUE '${value}';`);
      report(false, `lacks values of the entity. Add a migration with ${values.join(' ')}`);
    }
    if (column && name !== null && found.isNullable === false && !found.isFilled && this.metadata.synchronize) {
      const { isNeeded, sql } = this.defaultOf(column);
      if (sql) report(isNeeded, `has no default, which inserts without a value need. Add a migration with ${alter} ${sql}`);
    }
    if (column && found.isNullable === !column.isNullable) {
      const [state, verb] = found.isNullable ? ['may be null', 'SET'] : ['may not be null', 'DROP'];
      report(false, `${state}, unlike in the entity: correct it there, or add a migration with ${alter} ${verb} NOT NULL;`);
    }
    return drift;
  }

  /** The default that TypeORM relies on: needed unless features may set the value themselves, as `lists.insert` does ids. */
  private defaultOf({ name, default: value, generationStrategy }: TableColumn) {
    const { isCreateDate = false, isUpdateDate = false } = this.metadata.findColumnWithDatabaseName(name) ?? {};
    if (generationStrategy === 'increment' || generationStrategy === 'identity') {
      return { isNeeded: true, sql: 'ADD GENERATED BY DEFAULT AS IDENTITY; (and START WITH for rows that exist)' };
    }
    const uuid = generationStrategy === 'uuid' ? 'gen_random_uuid()' : undefined;
    const sql = (uuid ?? value) === undefined ? '' : `SET DEFAULT ${uuid ?? String(value)};`;
    return { isNeeded: isCreateDate || isUpdateDate, sql };
  }

  private typeOf(column: TableColumn): string {
    return this.metadata.dataSource.driver.createFullType(column).toLowerCase();
  }

  /** The SQL that TypeORM would run for a change. */
  private async sqlOf(change: (runner: QueryRunner) => Promise<unknown>): Promise<string> {
    const runner = this.metadata.dataSource.createQueryRunner();
    runner.enableSqlMemory();
    try {
      await change(runner);
      const { upQueries } = runner.getMemorySql();
      return upQueries.map(({ query }) => `${query};`).join(' ');
    } finally {
      runner.disableSqlMemory();
      await runner.release();
    }
  }
}
