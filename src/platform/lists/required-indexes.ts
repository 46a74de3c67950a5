import type { DataSource, EntityMetadata } from 'typeorm';
import { OperatorError } from '../errors/operator-error.js';
import { IndexMigration, SqlMigration } from '../database/migrations.js';
import { quotedTable } from '../database/database-client.js';
import { runStatement } from '../database/run-statement.js';
import { filters } from './filter/define-filter.js';
import { explain } from './find-filtered.js';
import { orders } from './list-options.js';
import { columnOf, comparedColumn, sortedColumns, sortingOf } from './sources.js';

/** Makes the planner use an index for an order if one serves it, however few the rows are. */
const NO_SORT = 'SET LOCAL enable_sort = off; SET LOCAL enable_incremental_sort = off';

const INDEXES = `
  SELECT relname AS name FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
  WHERE indrelid = to_regclass($1) AND indisvalid`;

/**
 * Checks that the indexes of declared filters and orders exist or, for filters, that a migration makes them.
 *
 * @throws OperatorError with every missing index
 */
export async function checkIndexes(dataSource: DataSource): Promise<void> {
  const missing: string[] = [];
  for (const metadata of dataSource.entityMetadatas) {
    const indexes = await dataSource.query<{ name: string }[]>(INDEXES, [quotedTable(metadata)]);
    // Without any index, the table does not exist: the entity belongs to another application of this process.
    if (indexes.length > 0) {
      const present = new Set(indexes.map(({ name }) => name));
      missing.push(...missingForFilters(metadata, present), ...(await missingForOrders(metadata)));
    }
  }
  if (missing.length > 0) {
    throw new OperatorError(missing.join('\n'));
  }
}

/** Without quotes and spaces. */
const plain = (sql: string) => sql.replaceAll(/["\s]/g, '').toLowerCase();

/** Why an index can be missing although a migration has the statement that contains this text; otherwise empty. */
function causeOf({ migrations }: DataSource, sql: string): string {
  const makes = (statement: string) => plain(statement).includes(plain(sql));
  const found = migrations.find((each) => each instanceof SqlMigration && each.statements.some(makes));
  const cause = 'makes it, but was changed after it had been applied, or the index was dropped.';
  return found ? ` ${found.constructor.name} ${cause}` : '';
}

function missingForFilters({ name: entity, target, dataSource }: EntityMetadata, present: ReadonlySet<string>): string[] {
  // Its migration may have skipped it, and one that is invalid or was dropped later is no reason not to start.
  const registered = new Set(dataSource.migrations.map((each) => each instanceof IndexMigration && each.index));
  const fields = filters.filter((each) => each.entity === target).flatMap((each) => Object.entries(each.fields));
  return fields.flatMap(([field, { indexes = [] }]) =>
    indexes
      .filter((index) => !present.has(index) && !registered.has(index))
      .map((index) => {
        const fix =
          `register an IndexMigration with index = '${index}', or correct the name. See ` +
          'docs/reference.md#filter-fields.';
        const cause = causeOf(dataSource, `INDEX ${index} ON`);
        return `${entity}.${field} names the index ${index}, which does not exist: ${fix}${cause}`;
      }),
  );
}

async function missingForOrders(metadata: EntityMetadata): Promise<string[]> {
  const { name, target, dataSource, deleteDateColumn } = metadata;
  const [table, missing] = [quotedTable(metadata), [] as string[]];
  for (const order of orders.filter(({ entity }) => entity === target)) {
    const columns = [...order.within.map((each) => comparedColumn(metadata, each)), ...sortedColumns(metadata, order)];
    const list = columns.map(({ sql }) => sql).join(', ');
    // Throws if the list cannot be sorted by a column of this type.
    sortingOf(metadata, order);
    // An index may leave out soft-deleted rows.
    const where = deleteDateColumn ? `WHERE ${columnOf(metadata, deleteDateColumn.propertyName)} IS NULL` : '';
    const text = `SELECT FROM ${table} ${where} ORDER BY ${list} LIMIT 1`;
    const plan = await dataSource.transaction(async (manager) => {
      await manager.query(NO_SORT);
      return explain((statement) => runStatement(manager, statement), { text, values: [] });
    });
    if (plan.sorts && !plan.isDistributed) {
      const definition = `ON ${table} (${list})`;
      const fix = `register an IndexMigration with definition = '${definition}'.${causeOf(dataSource, definition)}`;
      missing.push(`${name} is sorted by ${order.column}, which no index supports: ${fix}`);
    }
  }
  return missing;
}
