import type { Type } from '@nestjs/common';
import type { EntityManager, QueryDeepPartialEntity } from 'typeorm';
import { runStatement } from '../database/run-statement.js';
import { RowStatements } from './row-statements.js';

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
