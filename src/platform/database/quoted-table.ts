import type { EntityMetadata } from 'typeorm';

/** The quoted table of an entity, with its schema if it has one. */
export function quotedTable({ tablePath, dataSource: { driver } }: EntityMetadata): string {
  return tablePath
    .split('.')
    .map((name) => driver.escape(name))
    .join('.');
}
