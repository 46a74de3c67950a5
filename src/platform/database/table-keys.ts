import type { DataSource, EntityMetadata } from 'typeorm';
import { quotedTable } from './database-client.js';

/** Selects keys without a unique index, on fewer or more columns, too (partitioned tables); on ids, not a partial one. */
const MISSING = `
  SELECT n, invalid FROM json_to_recordset($1) AS declared (n int, "table" text, columns text[], "isPrimary" boolean)
    JOIN pg_class ON oid = to_regclass("table") AND relkind IN ('r', 'p'),
    LATERAL (SELECT bool_or(indisvalid) AS valid, min(indexrelid::regclass::text) AS invalid FROM pg_index,
      LATERAL (SELECT array_agg(attname::text) AS names FROM pg_attribute
        WHERE attrelid = indrelid AND attnum = ANY((indkey::int2[])[0:indnkeyatts - 1])) AS key
      WHERE indrelid = oid AND indisunique AND indexprs IS NULL AND (indpred IS NULL OR NOT "isPrimary")
        AND (names @> columns OR names <@ columns)) AS found
  WHERE valid IS NOT TRUE ORDER BY n`;

/**
 * Finds primary keys and unique columns that tables lack. A missing primary key is a fault, because requests may fail.
 *
 * @param entities - those with a table of their own
 */
export async function findMissingKeys(dataSource: DataSource, entities: readonly EntityMetadata[]) {
  const keys = entities.filter(({ synchronize }) => synchronize).flatMap(keysOf);
  const declared = JSON.stringify(keys.map((key, n) => ({ ...key, n })));
  const missing = await dataSource.query<{ n: number; invalid: string | null }[]>(MISSING, [declared]);
  return missing.map(({ n, invalid }) => {
    const { entity, table, list, isFault = false, sql } = keys[n] ?? {};
    const remedy =
      invalid === null ? `does not exist. Add a migration with ${sql};` : `is invalid. Run REINDEX INDEX ${invalid};`;
    return { isFault, text: `${entity}: the unique index ${list} of ${table} ${remedy}` };
  });
}

/** The primary key and the unique columns of an entity, with the SQL that adds each. */
function keysOf(metadata: EntityMetadata) {
  const { name: entity, tableType, primaryColumns, uniques, indices, dataSource } = metadata;
  const table = quotedTable(metadata);
  const { driver } = dataSource;
  const keyOf = (of: EntityMetadata['columns'], before: string, after = '') => {
    const columns = of.map(({ databaseName }) => databaseName);
    const list = `(${columns.map((column) => driver.escape(column)).join(', ')})`;
    const isPrimary = of === primaryColumns;
    const isFault = isPrimary && tableType === 'regular';
    return { entity, table, columns, list, isPrimary, isFault, sql: `${before} ${list}${after}` };
  };
  const named = (word: string, name = '') => (name === '' ? '' : `${word}${driver.escape(name)} `);
  // Leaves out the constraint that TypeORM adds to a one-to-one relation: the entity does not declare it.
  const declared = uniques.filter(({ columns }) => !columns.every((column) => column.relationMetadata?.isOneToOne));
  const alter = `ALTER TABLE ${table} ADD`;
  return [
    keyOf(primaryColumns, `${alter} PRIMARY KEY`),
    ...declared.map(({ columns, givenName }) => keyOf(columns, `${alter} ${named('CONSTRAINT ', givenName)}UNIQUE`)),
    ...indices
      .filter(({ isUnique }) => isUnique)
      .map(({ columns, givenName, where }) => {
        return keyOf(columns, `CREATE UNIQUE INDEX ${named('', givenName)}ON ${table}`, where ? ` WHERE ${where}` : '');
      }),
  ];
}
