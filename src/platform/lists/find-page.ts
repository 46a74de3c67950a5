import { type FindOptionsOrder, type FindOptionsWhere, LessThan, type Repository } from 'typeorm';
import { encodeCursor } from './cursor.js';
import type { Page } from './page.js';
import type { PageQuery } from './page-query.js';

/**
 * One page of an entity whose `id` is a UUIDv7, newest first. Going by key and backwards in time, a walk sees each row that
 * existed when it began exactly once, whatever is written meanwhile, and deep pages cost what the first one costs.
 *
 * @param repository - of the entity
 * @param query - which page; its cursor is valid, as validation has seen to
 * @throws what the database throws
 */
export async function findPage<Entity extends { id: string }>(
  repository: Repository<Entity>,
  query: PageQuery,
): Promise<Page<Entity>> {
  const { after, limit } = query;
  const rows = await repository.find({
    ...(after !== undefined && { where: { id: LessThan(after) } as FindOptionsWhere<Entity> }),
    order: { id: 'DESC' } as FindOptionsOrder<Entity>,
    // One more than asked for tells whether there is a next page.
    take: limit + 1,
  });
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return rows.length > limit && last ? { items, nextCursor: encodeCursor(last.id, query.filterExpression) } : { items };
}
