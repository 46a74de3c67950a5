import { type EntityMetadata, type FindOptionsWhere, type QueryDeepPartialEntity, Raw, type Repository } from 'typeorm';
import { notFound } from '../http/problem-types.js';
import { Problem } from '../http/problem.js';
import { type Versioned, versionsOf, weakly } from '../preconditions/entity-tags.js';
import { type Precondition, preconditionFailedProblem } from '../preconditions/precondition.js';

/** Updates a row in one statement, which compares its version. @returns the row after the update */
export async function updateRow<Entity extends Versioned>(
  repository: Repository<Entity>,
  id: string,
  changes: object,
  precondition: Precondition,
): Promise<Entity> {
  const { metadata } = repository;
  // Whatever the client may set, TypeORM counts the versions.
  const values = { ...changes, id: undefined, version: undefined } as QueryDeepPartialEntity<Entity>;
  const { raw } = await repository.update(rowWith(repository, id, precondition), values, { returning: '*' });
  const [row] = raw as Record<string, unknown>[];
  return row ? entityOf(metadata, row) : refuse(repository, id, precondition);
}

/** Deletes a row in one statement, which compares its version. */
export async function removeRow<Entity extends Versioned>(
  repository: Repository<Entity>,
  id: string,
  precondition: Precondition,
): Promise<void> {
  const { affected } = await repository.delete(rowWith(repository, id, precondition));
  if (affected === 0) {
    await refuse(repository, id, precondition);
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
  const excluded = weakly(ifNoneMatch);
  const conditions = (column: string) => [
    ...(ifMatch === '*' ? [] : [`${column}::text = ANY(:demanded)`]),
    excluded === '*' ? 'FALSE' : `${column}::text <> ALL(:excluded)`,
  ];
  const versions = { demanded: versionsOf(ifMatch, id), excluded: versionsOf(excluded, id) };
  return { id, version: Raw((column) => conditions(column).join(' AND '), versions) } as FindOptionsWhere<Entity>;
}

/** An entity as TypeORM reads it. */
function entityOf<Entity>(metadata: EntityMetadata, row: Record<string, unknown>): Entity {
  const entity = metadata.create() as Entity & object;
  for (const column of metadata.columns) {
    if (column.isSelect && !column.isVirtual) {
      column.setEntityValue(entity, metadata.dataSource.driver.prepareHydratedValue(row[column.databaseName], column));
    }
  }
  return entity;
}

/** The problem of a change that found no row. `If-Match` demands one that exists; `If-None-Match` may demand that there is none. */
async function refuse<Entity extends Versioned>(
  repository: Repository<Entity>,
  id: string,
  { ifMatch, ifNoneMatch }: Precondition,
): Promise<never> {
  const isThere = ifNoneMatch && (await repository.existsBy({ id } as FindOptionsWhere<Entity>));
  throw ifMatch || isThere ? preconditionFailedProblem() : new Problem(notFound, 'The resource does not exist.');
}
