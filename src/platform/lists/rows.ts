import { hash } from 'node:crypto';
import type { Type } from '@nestjs/common';
import {
  type EntityMetadata,
  type FindOptionsOrder,
  type FindOptionsWhere,
  In,
  LessThan,
  type ObjectLiteral,
  type QueryDeepPartialEntity,
  type Repository,
} from 'typeorm';
import { runRead, runStatement, type Statement } from '../database/run-statement.js';
import { quotedTable } from '../database/table-name.js';

/** Types of columns whose values are texts, for `pg` as for TypeORM. */
const TEXTS: ReadonlySet<string> = new Set(['uuid', 'text', 'character varying']);

/** Statements of an entity that have a name, at most: pages differ in size, and inserts in what clients leave out. */
const MOST_NAMES = 256;

/** A row as it is in the database or goes there. */
type Fields = Readonly<Record<string, unknown>>;

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
  const statements = statementsOf(repository);
  if (statements) {
    return statements.rows(await runRead(repository, statements.newest(after, count))) as Entity[];
  }
  return repository.find({
    ...(after !== undefined && { where: { id: LessThan(after) } as FindOptionsWhere<Entity> }),
    order: { id: 'DESC' } as FindOptionsOrder<Entity>,
    take: count,
  });
}

/** The rows whose keys a statement finds, newest first. */
export async function findByKeys<Entity extends { id: string }>(
  repository: Repository<Entity>,
  keys: Statement,
): Promise<Entity[]> {
  const statements = statementsOf(repository);
  if (statements) {
    return statements.rows(await runStatement(repository, statements.byKeys(keys))) as Entity[];
  }
  const ids = (await runStatement(repository, keys)).flat() as string[];
  return repository.find({
    where: { id: In(ids) } as FindOptionsWhere<Entity>,
    order: { id: 'DESC' } as FindOptionsOrder<Entity>,
  });
}

/** Adds a row, with the columns that are given. */
export async function insertRow<Entity extends { id: string }>(repository: Repository<Entity>, row: Fields): Promise<void> {
  const statements = statementsOf(repository);
  if (statements) {
    await runStatement(repository, statements.insert(row));
  } else {
    await repository.insert(row as QueryDeepPartialEntity<Entity>);
  }
}

const known = new WeakMap<EntityMetadata, RowStatements | undefined>();

/** Undefined for an entity of which TypeORM does more than to read and write columns. */
function statementsOf<Entity extends ObjectLiteral>({ metadata }: Repository<Entity>): RowStatements | undefined {
  if (!known.has(metadata)) {
    known.set(metadata, isPlain(metadata) ? rowStatements(metadata) : undefined);
  }
  return known.get(metadata);
}

function isPlain(metadata: EntityMetadata): boolean {
  const { columns, relations, embeddeds, listeners, inheritancePattern, treeType, tableType, dataSource } = metadata;
  return (
    tableType === 'regular' &&
    inheritancePattern === undefined &&
    treeType === undefined &&
    // What the database makes of a row when it is inserted must be read back.
    [relations, embeddeds, listeners, dataSource.subscribers, metadata.getInsertionReturningColumns()].flat().length === 0 &&
    columns.every(
      ({ isSelect, isInsert, transformer, type }) =>
        isSelect && isInsert && !transformer && !dataSource.driver.spatialTypes.includes(type),
    )
  );
}

type RowStatements = ReturnType<typeof rowStatements>;

/** The statements of an entity, prepared once: TypeORM builds them anew for each query, which takes longer than the database does. */
function rowStatements(metadata: EntityMetadata) {
  const { columns } = metadata;
  const { driver } = metadata.dataSource;
  const entity = metadata.target as Type<Record<string, unknown>>;
  const table = quotedTable(metadata);
  const key = columnOf(metadata, 'id');
  const select = `SELECT ${columns.map(({ databaseName }) => driver.escape(databaseName)).join(', ')} FROM ${table}`;
  const isText = columns.every((column) => TEXTS.has(driver.normalizeType(column)) && !column.isArray);
  const names = new Map<string, string>();

  /** A connection keeps the plan of a statement under its name, of which the server reads 63 bytes. */
  const nameOf = (text: string) => {
    let name = names.get(text);
    if (name === undefined && names.size < MOST_NAMES) {
      name = hash('sha256', text, 'base64url');
      names.set(text, name);
    }
    return name;
  };

  return {
    /** @param count - part of the text: not knowing it, the server would plan for a tenth of the table */
    newest(after: string | undefined, count: number): Statement {
      const where = after === undefined ? '' : ` WHERE ${key} < $1`;
      const text = `${select}${where} ORDER BY ${key} DESC LIMIT ${count}`;
      return { text, name: nameOf(text), isText, values: after === undefined ? [] : [after] };
    },

    /** Has no name: it is planned for its values. */
    byKeys({ text, values }: Statement): Statement {
      return { text: `${select} WHERE ${key} = ANY(ARRAY(${text})) ORDER BY ${key} DESC`, isText, values };
    },

    /** What is undefined gets what the table has for it. */
    insert(fields: Fields): Statement {
      const given = columns.filter(({ propertyName }) => fields[propertyName] !== undefined);
      const places = given.map((_, place) => `$${place + 1}`).join(', ');
      const text = `INSERT INTO ${table} (${given.map(({ databaseName }) => driver.escape(databaseName)).join(', ')}) VALUES (${places})`;
      const values = given.map((column) => driver.preparePersistentValue(fields[column.propertyName], column) as unknown);
      // It gives no rows.
      return { text, name: nameOf(text), isText: true, values };
    },

    /** What TypeORM makes of rows. */
    rows(found: readonly (readonly unknown[])[]): object[] {
      return found.map((values) => {
        const row = new entity();
        columns.forEach((column, place) => {
          const value = values[place];
          row[column.propertyName] = isText ? value : (driver.prepareHydratedValue(value, column) as unknown);
        });
        return row;
      });
    },
  };
}

/** The column of a property, as SQL names it. */
export function columnOf(metadata: EntityMetadata, property: string): string {
  return metadata.dataSource.driver.escape(metadata.findColumnWithPropertyName(property)?.databaseName ?? property);
}
