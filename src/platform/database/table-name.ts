import type { Type } from '@nestjs/common';
import { type ColumnOptions, type EntityMetadata, getMetadataArgsStorage } from 'typeorm';

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
