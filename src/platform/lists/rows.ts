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
    return statements.rows(await runRead(repository, statements.newest(after, count)));
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
    return statements.rows(await runStatement(repository, statements.byKeys(keys)));
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

const known = new WeakMap<EntityMetadata, RowStatements<ObjectLiteral> | null>();

/** Undefined for an entity of which TypeORM does more than to read and write columns. */
function statementsOf<Entity extends ObjectLiteral>({ metadata }: Repository<Entity>): RowStatements<Entity> | undefined {
  let statements = known.get(metadata);
  if (statements === undefined) {
    statements = isPlain(metadata) ? new RowStatements<ObjectLiteral>(metadata) : null;
    known.set(metadata, statements);
  }
  return (statements as RowStatements<Entity> | null) ?? undefined;
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

/**
 * The statements of lists by key, prepared once for an entity: TypeORM builds them anew for each query, which takes longer than the
 * database does.
 */
class RowStatements<Entity extends ObjectLiteral> {
  private readonly entity: Type<Entity>;
  private readonly table: string;
  private readonly key: string;
  private readonly select: string;
  private readonly isText: boolean;
  private readonly names = new Map<string, string>();

  constructor(private readonly metadata: EntityMetadata) {
    const { columns, target } = metadata;
    this.entity = target as Type<Entity>;
    this.table = quotedTable(metadata);
    this.key = this.driver.escape(metadata.findColumnWithPropertyName('id')?.databaseName ?? 'id');
    this.select = `SELECT ${columns.map(({ databaseName }) => this.driver.escape(databaseName)).join(', ')} FROM ${this.table}`;
    this.isText = columns.every((column) => TEXTS.has(this.driver.normalizeType(column)) && !column.isArray);
  }

  /** @param count - part of the text: not knowing it, the server would plan for a tenth of the table */
  newest(after: string | undefined, count: number): Statement {
    const where = after === undefined ? '' : ` WHERE ${this.key} < $1`;
    const text = `${this.select}${where} ORDER BY ${this.key} DESC LIMIT ${count}`;
    return { text, name: this.nameOf(text), isText: this.isText, values: after === undefined ? [] : [after] };
  }

  /** Has no name: it is planned for its values. */
  byKeys({ text, values }: Statement): Statement {
    return {
      text: `${this.select} WHERE ${this.key} = ANY(ARRAY(${text})) ORDER BY ${this.key} DESC`,
      isText: this.isText,
      values,
    };
  }

  /** What is undefined gets what the table has for it. */
  insert(fields: Fields): Statement {
    const given = this.metadata.columns.filter(({ propertyName }) => fields[propertyName] !== undefined);
    const columns = given.map(({ databaseName }) => this.driver.escape(databaseName)).join(', ');
    const places = given.map((_, place) => `$${place + 1}`).join(', ');
    const text = `INSERT INTO ${this.table} (${columns}) VALUES (${places})`;
    const values = given.map((column) => this.driver.preparePersistentValue(fields[column.propertyName], column) as unknown);
    // It gives no rows.
    return { text, name: this.nameOf(text), isText: true, values };
  }

  /** What TypeORM makes of rows. */
  rows(found: readonly (readonly unknown[])[]): Entity[] {
    const { columns } = this.metadata;
    return found.map((values) => {
      const row: Record<string, unknown> = new this.entity();
      columns.forEach((column, place) => {
        const value = values[place];
        row[column.propertyName] = this.isText ? value : (this.driver.prepareHydratedValue(value, column) as unknown);
      });
      return row as Entity;
    });
  }

  private get driver() {
    return this.metadata.dataSource.driver;
  }

  /** A connection keeps the plan of a statement under its name, of which the server reads 63 bytes. */
  private nameOf(text: string): string | undefined {
    let name = this.names.get(text);
    if (name === undefined && this.names.size < MOST_NAMES) {
      name = hash('sha256', text, 'base64url');
      this.names.set(text, name);
    }
    return name;
  }
}
