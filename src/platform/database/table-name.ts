import type { Type } from '@nestjs/common';
import { type ColumnOptions, type DataSource, type EntityMetadata, getMetadataArgsStorage } from 'typeorm';
import { OperatorError } from '../config/operator-error.js';
import { sqlState } from './database-problem.js';

/** SQLSTATE of an undefined column or table. */
const MISSING = /^42(?:703|P01)$/;

/** The column options of a property, as declared in the entity or a class that it extends. */
export function columnOptionsOf(entity: Type, property: string): ColumnOptions | undefined {
  return getMetadataArgsStorage().columns.findLast(
    ({ target, propertyName }) => propertyName === property && isOf(entity, target),
  )?.options;
}

/** Whether a declaration for `target` applies to an entity. */
export function isOf(entity: Type, target: unknown): boolean {
  return typeof target === 'function' && (target === entity || entity.prototype instanceof target);
}

/** The quoted table of an entity, with its schema if it has one. */
export function quotedTable({ tablePath, dataSource: { driver } }: EntityMetadata): string {
  return tablePath
    .split('.')
    .map((name) => driver.escape(name))
    .join('.');
}

/** The quoted column of a property. */
export function columnOf(metadata: EntityMetadata, property: string): string {
  return metadata.dataSource.driver.escape(metadata.findColumnWithPropertyName(property)?.databaseName ?? property);
}

/** Checks that all tables and columns exist, which fails after a missing or edited migration. @throws OperatorError */
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
        `The entity ${metadata.name} does not match the database: ${error.message}. Write a new migration that fixes it; applied ` +
          'migrations are not run again. If you need no data, delete the database (DATA_DIR if it is embedded).',
        { cause: error },
      );
    }
  }
}
