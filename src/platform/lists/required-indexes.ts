import type { DataSource, EntityMetadata } from 'typeorm';
import { OperatorError } from '../config/operator-error.js';
import { IndexMigration } from '../database/migrations.js';
import { filters } from './filter/define-filter.js';
import { type ComparedColumn, comparedColumn, orders, sortedColumns } from './list-options.js';
import { quotedTable } from './rows.js';

interface Index {
  readonly name: string;
  /** Whether it is a B-tree of all rows that are not soft-deleted. */
  readonly sorts: boolean;
  /** Such as `title C DESC`. */
  readonly columns: readonly (string | null)[];
}

/** A plan proves nothing about an index for few rows. */
const INDEXES = `
  SELECT x.relname AS name,
    m.amname = 'btree' AND (i.indpred IS NULL OR pg_get_expr(i.indpred, i.indrelid) = '(' || quote_ident($2) || ' IS NULL)')
      AND NOT EXISTS (SELECT FROM unnest(i.indclass) o JOIN pg_opclass p ON p.oid = o WHERE NOT p.opcdefault) AS sorts,
    array(
      SELECT a.attname || CASE WHEN c.collname <> 'default' THEN ' ' || c.collname ELSE '' END
        || CASE i.indoption[k] WHEN 0 THEN '' WHEN 3 THEN ' DESC' ELSE ' NULLS' END
      FROM generate_series(0, i.indnkeyatts - 1) k
      LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k]
      LEFT JOIN pg_collation c ON c.oid = i.indcollation[k]
      ORDER BY k
    ) AS columns
  FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
  WHERE i.indrelid = to_regclass($1) AND i.indisvalid`;

/** Checks that the indexes of declared filters and orders exist or, for filters, that a migration makes them. @throws OperatorError with every missing index */
export async function checkIndexes(dataSource: DataSource): Promise<void> {
  const missing: string[] = [];
  for (const metadata of dataSource.entityMetadatas) {
    const parameters = [quotedTable(metadata), metadata.deleteDateColumn?.databaseName];
    const indexes = await dataSource.query<Index[]>(INDEXES, parameters);
    // Without any index, the table does not exist: the entity belongs to another application of this process.
    if (indexes.length > 0) {
      missing.push(...missingForFilters(metadata, indexes), ...missingForOrders(metadata, indexes));
    }
  }
  if (missing.length > 0) {
    throw new OperatorError(missing.join('\n'));
  }
}

function missingForFilters({ name: entity, target, dataSource }: EntityMetadata, indexes: readonly Index[]): string[] {
  const present = new Set(indexes.map(({ name }) => name));
  // Its migration may have skipped it, and one that is invalid or was dropped later is no reason not to start.
  const registered = new Set(dataSource.migrations.map((each) => each instanceof IndexMigration && each.index));
  const fields = filters.filter((each) => each.entity === target).flatMap((each) => Object.entries(each.fields));
  return fields.flatMap(([field, { indexes: named = [] }]) =>
    named
      .filter((index) => !present.has(index) && !registered.has(index))
      .map(
        (index) =>
          `${entity}.${field} names the index ${index}, which does not exist: register an IndexMigration with index = '${index}', or correct the name. See docs/extending.md.`,
      ),
  );
}

function missingForOrders(metadata: EntityMetadata, indexes: readonly Index[]): string[] {
  return orders
    .filter(({ entity }) => entity === metadata.target)
    .flatMap((order) => {
      const fixed = order.within.map((name) => comparedColumn(metadata, name));
      const sorted = sortedColumns(metadata, order);
      if (indexes.some(({ sorts, columns }) => sorts && serves(columns, fixed, sorted))) {
        return [];
      }
      const definition = `ON ${quotedTable(metadata)} (${[...fixed, ...sorted].map(({ sql }) => sql).join(', ')})`;
      return `${metadata.name} is sorted by ${order.column}, which no index supports: register an IndexMigration with definition = '${definition}'.`;
    });
}

/** Whether an index starts with the columns of the base condition in any order, followed by the sort columns in one direction. */
function serves(index: readonly (string | null)[], fixed: readonly ComparedColumn[], sorted: readonly ComparedColumn[]): boolean {
  const first = new Set(index.slice(0, fixed.length).map((column) => column?.replace(/ (?:DESC|NULLS)$/, '')));
  const next = index.slice(fixed.length, fixed.length + sorted.length).join();
  return (
    fixed.every(({ indexed }) => first.has(indexed)) &&
    ['', ' DESC'].some((direction) => next === sorted.map(({ indexed }) => indexed + direction).join())
  );
}
