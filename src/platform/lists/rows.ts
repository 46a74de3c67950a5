import type { Type } from '@nestjs/common';
import { type EntityManager, type FindOptionsOrder, type FindOptionsWhere, LessThan, type QueryDeepPartialEntity } from 'typeorm';
import { runRead, runStatement } from '../database/run-statement.js';
import { RowStatements } from './row-statements.js';

/**
 * The newest rows of an entity, newest first.
 *
 * @param after - key of the row before them; undefined for the first ones
 * @param count - of rows, at most
 */
export async function findNewest<Entity extends { id: string }>(
  manager: EntityManager,
  entity: Type<Entity>,
  after: string | undefined,
  count: number,
): Promise<Entity[]> {
  const statements = RowStatements.of(manager.dataSource, entity);
  if (statements) {
    const rows = await runRead(manager, statements.newest(after, count));
    return rows.map(statements.row);
  }
  return manager.getRepository(entity).find({
    ...(after !== undefined && { where: { id: LessThan(after) } as FindOptionsWhere<Entity> }),
    order: { id: 'DESC' } as FindOptionsOrder<Entity>,
    take: count,
  });
}

/** Adds a row, with the columns that are given. */
export async function insertRow<Entity extends { id: string }>(
  manager: EntityManager,
  entity: Type<Entity>,
  row: Readonly<Record<string, unknown>>,
): Promise<void> {
  const statements = RowStatements.of(manager.dataSource, entity);
  if (statements) {
    await runStatement(manager, statements.insert(row));
  } else {
    await manager.getRepository(entity).insert(row as QueryDeepPartialEntity<Entity>);
  }
}
