import DataLoader from 'dataloader';
import type { DataSource, DeepPartial, EntityMetadata, QueryDeepPartialEntity, Repository } from 'typeorm';
import { isUnavailable } from '../database/database-problem.js';
import { quotedTable } from '../database/database-client.js';
import { runStatement } from '../database/run-statement.js';
import { runnerOf } from '../database/transactions.js';
import { type Fields, statementsOf } from './rows.js';

/** Maximum rows of a statement. */
const MOST_ROWS = 16;

/** Whether inserts into a table neither wait for other transactions nor run triggers. */
const IS_INDEPENDENT = `
  SELECT NOT EXISTS (SELECT FROM pg_index WHERE indrelid = to_regclass($1) AND indisunique AND NOT indisprimary)
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = to_regclass($1) AND contype IN ('f', 'x'))
    AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass($1) AND NOT tgisinternal AND tgtype & 4 <> 0) AS is`;

/** Entities with such a table. Each data source has its own metadata. */
const independent = new WeakSet<EntityMetadata>();

/** Finds the tables whose rows can be inserted in batches. */
export async function findIndependentTables(dataSource: DataSource): Promise<void> {
  for (const metadata of dataSource.entityMetadatas) {
    const [row] = await dataSource.query<{ is: boolean }[]>(IS_INDEPENDENT, [quotedTable(metadata)]);
    if (row?.is) {
      independent.add(metadata);
    }
  }
}

type Insert = (rows: readonly Fields[]) => Promise<unknown>;

/** Each batches the rows of one event loop turn. */
const inserters = new WeakMap<EntityMetadata, DataLoader<Fields, void>>();

/** Inserts a row, together with others of the event loop turn if the table allows it, for less CPU time (ADR 30). */
export async function insertRow<Entity extends { id: string }>(repository: Repository<Entity>, row: Fields): Promise<void> {
  const { manager, metadata } = repository;
  const statements = statementsOf(repository);
  if (!statements) {
    // TypeORM calls listeners only for instances of the entity.
    const entity = metadata.listeners.length > 0 ? repository.create(row as DeepPartial<Entity>) : row;
    await repository.insert(entity as QueryDeepPartialEntity<Entity>);
    Object.assign(row, entity);
    return;
  }
  // `async`, so that a value that cannot be converted rejects its row alone.
  const insert: Insert = async (rows) => runStatement(manager, statements.insert(rows));
  if (runnerOf(manager) ?? !independent.has(metadata)) {
    await insert([row]);
  } else {
    await inserters.getOrInsertComputed(metadata, () => newInserter(insert)).load(row);
  }
}

function newInserter(insert: Insert): DataLoader<Fields, void> {
  const insertAll = async (rows: readonly Fields[]): Promise<(Error | undefined)[]> => {
    try {
      await insert(rows);
      return rows.map(() => undefined);
    } catch (error) {
      if (isUnavailable(error)) {
        throw error;
      }
      // A row is invalid: inserts each alone.
      const outcomes: (Error | undefined)[] = [];
      for (const row of rows) {
        const [outcome] = await Promise.allSettled([insert([row])]);
        outcomes.push(outcome.status === 'rejected' ? (outcome.reason as Error) : undefined);
      }
      return outcomes;
    }
  };
  return new DataLoader(insertAll, { cache: false, maxBatchSize: MOST_ROWS, batchScheduleFn: setImmediate });
}
