import type { DataSource, EntityMetadata } from 'typeorm';
import { quotedTable } from './database-client.js';

/** An index may have more columns, as in partitioned and distributed tables, or fewer. Of ids, it must have all rows. */
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
 * Primary keys, without which requests may fail, and unique columns that tables lack.
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

/** What an entity declares, with the SQL that adds it. */
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
  // TypeORM makes each side of a one-to-one relation unique.
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
