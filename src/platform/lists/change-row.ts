import {
  type EntityMetadata,
  type FindOptionsWhere,
  IsNull,
  type ObjectLiteral,
  type QueryDeepPartialEntity,
  Raw,
  type Repository,
} from 'typeorm';
import { notFound } from '../problems/problem-types.js';
import { Problem } from '../problems/problem.js';
import { type Versioned, versionsOf, weakly } from '../preconditions/entity-tags.js';
import { type Precondition, preconditionFailedProblem } from '../preconditions/precondition.js';
import { columnOf } from './sources.js';

/** Updates a row in one statement, which compares its version. @returns the row after the update */
export async function updateRow<Entity extends Versioned>(
  repository: Repository<Entity>,
  id: string,
  changes: object,
  precondition: Precondition,
): Promise<Entity> {
  // TypeORM counts the versions, also if a client sets one.
  const values = { ...changes, id: undefined, version: undefined } as QueryDeepPartialEntity<Entity>;
  const result = await repository.update(rowWith(repository, id, precondition), values, { returning: '*' });
  const [row] = result.raw as Record<string, unknown>[];
  if (!row) {
    return rejectChange(repository, id, precondition);
  }
  return isComputed(repository.metadata)
    ? repository.findOneByOrFail({ id } as FindOptionsWhere<Entity>)
    : (entityOf(repository.metadata, row) as Entity);
}

/** Deletes a row in one statement, which compares its version. */
export async function removeRow<Entity extends Versioned>(
  repository: Repository<Entity>,
  id: string,
  precondition: Precondition,
): Promise<void> {
  const { affected } = await repository.delete(rowWith(repository, id, precondition));
  if (affected === 0) {
    await rejectChange(repository, id, precondition);
  }
}

/** Matches the row if its version is as the client demands. @throws Error without a version column */
function rowWith<Entity extends Versioned>(
  { metadata }: Repository<Entity>,
  id: string,
  { ifMatch = '*', ifNoneMatch = [] }: Precondition,
): FindOptionsWhere<Entity> {
  if (metadata.versionColumn?.propertyName !== 'version') {
    throw new Error(`${metadata.name}.version is not a @VersionColumn(): declare it as one, with a migration that adds it.`);
  }
  const version = `${columnOf(metadata, 'version')}::text`;
  const excluded = weakly(ifNoneMatch);
  const conditions = [
    ...(ifMatch === '*' ? [] : [`${version} = ANY(:demanded)`]),
    ...(excluded === '*' ? ['FALSE'] : excluded.length > 0 ? [`${version} <> ALL(:excluded)`] : []),
  ];
  const versions = { demanded: versionsOf(ifMatch, id), excluded: versionsOf(excluded, id) };
  const versionCondition = conditions.length > 0 && { version: Raw(() => conditions.join(' AND '), versions) };
  // TypeORM hides soft-deleted rows only from reads.
  const presence = metadata.deleteDateColumn && { [metadata.deleteDateColumn.propertyName]: IsNull() };
  return { id, ...versionCondition, ...presence } as FindOptionsWhere<Entity>;
}

/** Whether an entity is more than its row: TypeORM joins relations, computes columns and calls listeners in reads only. */
function isComputed({ eagerRelations, afterLoadListeners, columns }: EntityMetadata): boolean {
  return eagerRelations.length + afterLoadListeners.length > 0 || columns.some(({ isVirtualProperty }) => isVirtualProperty);
}

/** An entity as TypeORM reads it. */
function entityOf(metadata: EntityMetadata, row: Record<string, unknown>): ObjectLiteral {
  const entity = metadata.create() as ObjectLiteral;
  for (const column of metadata.columns) {
    if (column.isSelect && !column.isVirtual) {
      column.setEntityValue(entity, metadata.dataSource.driver.prepareHydratedValue(row[column.databaseName], column));
    }
  }
  return entity;
}

/** The problem of a change that found no row. `If-Match` demands one; `If-None-Match` may demand that there is none. */
async function rejectChange<Entity extends Versioned>(
  repository: Repository<Entity>,
  id: string,
  { ifMatch, ifNoneMatch }: Precondition,
): Promise<never> {
  const isThere = ifNoneMatch && (await repository.existsBy({ id } as FindOptionsWhere<Entity>));
  throw ifMatch || isThere ? preconditionFailedProblem() : new Problem(notFound, 'The resource does not exist.');
}
