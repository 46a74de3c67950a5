import type { EntityMetadata } from 'typeorm';

/** Where an entity is kept, as SQL names it: with its schema, if it has one. */
export function quotedTable({ tablePath, dataSource: { driver } }: EntityMetadata): string {
  return tablePath
    .split('.')
    .map((name) => driver.escape(name))
    .join('.');
}
