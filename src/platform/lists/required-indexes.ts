import type { DataSource, EntityMetadata } from 'typeorm';
import { IndexMigration } from '../database/migrations.js';
import { quotedTable } from '../database/database-client.js';
import { runStatement } from '../database/run-statement.js';
import { type Difference, rejecting } from '../database/schema-drift.js';
import { filters } from './filter/define-filter.js';
import { explain } from './find-filtered.js';
import { orders } from './list-options.js';
import { columnOf, sortedColumns, sortingOf } from './sources.js';

/** Makes the planner use an index for an order if one serves it, however few the rows are. */
const NO_SORT = 'SET LOCAL enable_sort = off; SET LOCAL enable_incremental_sort = off';

const INDEXES = `
  SELECT relname AS name, relkind = 'I' AS "isPartitioned" FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
  WHERE indrelid = to_regclass($1) AND indisvalid`;

/** An index, or that of all partitions of a table. */
interface PresentIndex {
  readonly name: string;
  readonly isPartitioned: boolean;
}

/** Looks for missing indexes before the service is ready. @throws OperatorError with all faults */
export const checkIndexes = rejecting(findMissingIndexes);

/**
 * Finds indexes that declared filters and orders need and that are missing or invalid.
 *
 * @returns faults; as warnings, indexes of filters that have a migration: it skipped them, or they were dropped later
 */
export async function findMissingIndexes(dataSource: DataSource): Promise<Difference[]> {
  const missing: Difference[] = [];
  for (const metadata of dataSource.entityMetadatas) {
    const indexes = await dataSource.query<PresentIndex[]>(INDEXES, [quotedTable(metadata)]);
    // A view has no index: those of its tables serve it.
    if (indexes.length > 0) {
      missing.push(...missingForFilters(metadata, indexes));
      missing.push(...(await missingForOrders(metadata)).map((text) => ({ isFault: true, text })));
    }
  }
  return missing;
}

/** The fix for an index that its migration skipped or did not complete, or that was dropped. */
function rebuild({ quotedName, extension, statements }: IndexMigration, isPartitioned: boolean): string {
  const needed = extension === undefined ? [] : [`CREATE EXTENSION IF NOT EXISTS "${extension}"`];
  const sql = [...needed, `DROP INDEX CONCURRENTLY IF EXISTS ${quotedName}`, ...statements].join('; ');
  // PostgreSQL refuses `CONCURRENTLY` for all partitions at once. It adopts the indexes that partitions have.
  const allowed = isPartitioned ? sql.replaceAll(' CONCURRENTLY', '') : sql;
  const before =
    'Before the last one, which blocks writes while it builds, run CREATE INDEX CONCURRENTLY for each partition, with the ' +
    'same columns and another name.';
  const fix = `it is missing or invalid. As the owner of the table, run one by one: ${allowed};`;
  return isPartitioned ? `${fix} ${before}` : fix;
}

function missingForFilters(metadata: EntityMetadata, existing: readonly PresentIndex[]): Difference[] {
  const { name: entity, target, dataSource } = metadata;
  const present = new Set(existing.map(({ name }) => name));
  const isPartitioned = existing.some((each) => each.isPartitioned);
  const migrations = dataSource.migrations.filter((each) => each instanceof IndexMigration);
  const fields = filters.filter((each) => each.entity === target).flatMap((each) => Object.entries(each.fields));
  return fields.flatMap(([field, { indexes = [] }]) =>
    indexes
      .filter((name) => !present.has(name))
      .map((index) => {
        const migration = migrations.find((each) => each.index === index);
        const fix = `register an IndexMigration with index = '${index}', or correct the name`;
        const text = migration
          ? `filters do without the index ${index}: ${rebuild(migration, isPartitioned)}`
          : `names the index ${index}, which does not exist: ${fix}. See docs/reference.md#filter-fields.`;
        return { isFault: !migration, text: `${entity}.${field}${migration ? ': ' : ' '}${text}` };
      }),
  );
}

async function missingForOrders(metadata: EntityMetadata): Promise<string[]> {
  const { name, target, dataSource, deleteDateColumn } = metadata;
  const [table, missing] = [quotedTable(metadata), [] as string[]];
  for (const order of orders.filter(({ entity }) => entity === target)) {
    const columns = [...order.within.map((each) => columnOf(metadata, each)), ...sortedColumns(metadata, order)];
    const list = columns.map(({ sql }) => sql).join(', ');
    // Throws if the list cannot be sorted by a column of this type.
    sortingOf(metadata, order);
    // An index may leave out soft-deleted rows.
    const where = deleteDateColumn ? `WHERE ${columnOf(metadata, deleteDateColumn.propertyName).name} IS NULL` : '';
    const text = `SELECT FROM ${table} ${where} ORDER BY ${list} LIMIT 1`;
    const plan = await dataSource.transaction(async (manager) => {
      await manager.query(NO_SORT);
      return explain((statement) => runStatement(manager, statement), { text, values: [] });
    });
    if (plan.sorts && !plan.isDistributed) {
      const fix = `register an IndexMigration with definition = 'ON ${table} (${list})'.`;
      missing.push(`${name} is sorted by ${order.column}, which no index supports: ${fix}`);
    }
  }
  return missing;
}
