import { type FindOptionsOrder, type FindOptionsWhere, LessThan, type QueryDeepPartialEntity, type Repository } from 'typeorm';
import { runRead, runStatement } from '../database/run-statement.js';
import { RowStatements } from './row-statements.js';

/**
 * The newest rows of an entity, newest first.
 *
 * @param after - key of the row before them; undefined for the first ones
 * @param count - of rows, at most
 */
export async function findNewest<Entity extends { id: string }>(
  repository: Repository<Entity>,
  after: string | undefined,
  count: number,
): Promise<Entity[]> {
  const statements = RowStatements.of<Entity>(repository.metadata);
  if (statements) {
    const rows = await runRead(repository, statements.newest(after, count));
    return rows.map(statements.row);
  }
  return repository.find({
    ...(after !== undefined && { where: { id: LessThan(after) } as FindOptionsWhere<Entity> }),
    order: { id: 'DESC' } as FindOptionsOrder<Entity>,
    take: count,
  });
}

/** Adds a row, with the columns that are given. */
export async function insertRow<Entity extends { id: string }>(
  repository: Repository<Entity>,
  row: Readonly<Record<string, unknown>>,
): Promise<void> {
  const statements = RowStatements.of<Entity>(repository.metadata);
  if (statements) {
    await runStatement(repository, statements.insert(row));
  } else {
    await repository.insert(row as QueryDeepPartialEntity<Entity>);
  }
}
