import type { DataSource, EntityMetadata } from 'typeorm';
import { OperatorError } from '../config/operator-error.js';
import { sqlState } from './sql-state.js';
import { quotedTable } from './table-name.js';

/** SQLSTATE of a column and of a table that are not there. */
const MISSING = /^42(?:703|P01)$/;

/**
 * Whether the database has the tables and columns that the entities name. It has not when a migration is missing, or was changed
 * after it had been applied.
 *
 * @throws OperatorError that names what is missing
 */
export async function checkTables(dataSource: DataSource): Promise<void> {
  for (const metadata of dataSource.entityMetadatas) {
    try {
      const columns = metadata.columns.map(({ databaseName }) => dataSource.driver.escape(databaseName));
      await dataSource.query(`SELECT ${columns.join(', ')} FROM ${quotedTable(metadata)} WHERE FALSE`);
    } catch (error) {
      throw MISSING.test(sqlState(error)) ? explain(error as Error, metadata) : error;
    }
  }
}

function explain(error: Error, { name }: EntityMetadata): OperatorError {
  return new OperatorError(
    `The entity ${name} does not fit the database: ${error.message}. Write a migration that fixes it; one that was applied is not ` +
      'applied again. Where nothing is to be kept, remove the database, which is DATA_DIR when it is embedded.',
    { cause: error },
  );
}
