import type { Type } from '@nestjs/common';
import { type ColumnOptions, type DataSource, type EntityMetadata, getMetadataArgsStorage } from 'typeorm';
import { OperatorError } from '../config/operator-error.js';
import { sqlState } from './database-problem.js';

/** SQLSTATE of a column and of a table that are not there. */
const MISSING = /^42(?:703|P01)$/;

/** What is declared of the column that keeps a property of an entity, in the entity or in a class that it extends. */
export function columnOptionsOf(entity: Type, property: string): ColumnOptions | undefined {
  return getMetadataArgsStorage().columns.findLast(
    ({ target, propertyName }) => propertyName === property && isOf(entity, target),
  )?.options;
}

/** Whether what was declared of a class holds for an entity: it is the entity or extended by it. */
export function isOf(entity: Type, target: unknown): boolean {
  return typeof target === 'function' && (target === entity || entity.prototype instanceof target);
}

/** The table of an entity, as SQL names it: with its schema, if it has one. */
export function quotedTable({ tablePath, dataSource: { driver } }: EntityMetadata): string {
  return tablePath
    .split('.')
    .map((name) => driver.escape(name))
    .join('.');
}

/** The column of a property, as SQL names it. */
export function columnOf(metadata: EntityMetadata, property: string): string {
  return metadata.dataSource.driver.escape(metadata.findColumnWithPropertyName(property)?.databaseName ?? property);
}

/**
 * Checks that the database has the tables and columns that the entities name. It has not when a migration is missing, or was
 * changed after it had been applied.
 *
 * @throws OperatorError that names what is missing
 */
export async function checkTables(dataSource: DataSource): Promise<void> {
  for (const metadata of dataSource.entityMetadatas) {
    try {
      const columns = metadata.columns.map(({ databaseName }) => dataSource.driver.escape(databaseName));
      await dataSource.query(`SELECT ${columns.join(', ')} FROM ${quotedTable(metadata)} WHERE FALSE`);
    } catch (error) {
      if (!MISSING.test(sqlState(error)) || !Error.isError(error)) {
        throw error;
      }
      throw new OperatorError(
        `The entity ${metadata.name} does not fit the database: ${error.message}. Write a migration that fixes it; one that was ` +
          'applied is not applied again. Where nothing is to be kept, remove the database, which is DATA_DIR when it is embedded.',
        { cause: error },
      );
    }
  }
}
