import { type FindOptionsWhere, IsNull, Raw, type Repository } from 'typeorm';
import { notFound } from '../problems/problem-types.js';
import { Problem } from '../problems/problem.js';
import { opaqueTags, type Versioned, versionsOf } from '../preconditions/entity-tags.js';
import { type Precondition, preconditionFailedProblem } from '../preconditions/precondition.js';
import { columnOf } from './sources.js';

/** Matches the row if its version is as the client demands. @throws Error without a version column */
export function rowWith<Entity extends Versioned>(
  { metadata }: Repository<Entity>,
  id: string,
  { ifMatch = '*', ifNoneMatch = [] }: Precondition,
): FindOptionsWhere<Entity> {
  if (metadata.versionColumn?.propertyName !== 'version') {
    throw new Error(`${metadata.name}.version is not a @VersionColumn(): declare it as one, with a migration that adds it.`);
  }
  const version = `${columnOf(metadata, 'version').name}::text`;
  const excluded = opaqueTags(ifNoneMatch);
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

/** The entity of a changed row. Reads it again for eager relations, computed columns or listeners, which need a read. */
export function entityOf<Entity extends Versioned>(
  repository: Repository<Entity>,
  id: string,
  row: Readonly<Record<string, unknown>>,
): Entity | Promise<Entity> {
  const { metadata } = repository;
  const { eagerRelations, afterLoadListeners, columns, dataSource } = metadata;
  if (eagerRelations.length + afterLoadListeners.length > 0 || columns.some((column) => column.isVirtualProperty)) {
    return repository.findOneByOrFail({ id } as FindOptionsWhere<Entity>);
  }
  const entity = metadata.create() as Entity;
  for (const column of columns.filter(({ isSelect, isVirtual }) => isSelect && !isVirtual)) {
    column.setEntityValue(entity, dataSource.driver.prepareHydratedValue(row[column.databaseName], column));
  }
  return entity;
}

/** The problem of a change that found no row. `If-Match` demands one; `If-None-Match` may demand that there is none. */
export async function rejectChange<Entity extends Versioned>(
  repository: Repository<Entity>,
  id: string,
  { ifMatch, ifNoneMatch }: Precondition,
): Promise<never> {
  const isThere = ifNoneMatch && (await repository.existsBy({ id } as FindOptionsWhere<Entity>));
  throw ifMatch || isThere ? preconditionFailedProblem() : new Problem(notFound, 'The resource does not exist.');
}
