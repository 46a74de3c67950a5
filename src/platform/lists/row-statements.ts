import { hash } from 'node:crypto';
import type { Type } from '@nestjs/common';
import type { Driver, EntityMetadata, ObjectLiteral } from 'typeorm';
import type { Statement } from '../database/run-statement.js';
import { quotedTable } from '../database/table-name.js';

type ColumnMetadata = EntityMetadata['columns'][number];

/** Types of columns whose values are texts, for `pg` as for TypeORM. */
const TEXT: ReadonlySet<unknown> = new Set(['uuid', 'text', 'varchar', 'character varying']);

/** Those whose values TypeORM leaves as `pg` gives and takes them. */
const KEPT: ReadonlySet<unknown> = new Set([...TEXT, 'integer', 'int', 'int4', 'smallint', 'int2']);

/** Those that it makes something of, without reading or writing them another way. */
const CONVERTED: ReadonlySet<unknown> = new Set([
  String,
  Number,
  Boolean,
  'boolean',
  'bool',
  'double precision',
  'float8',
  'float',
  'timestamptz',
  'timestamp with time zone',
]);

/** Sets of columns whose insert has a name, as clients choose them by what they leave out. */
const MOST_INSERTS = 16;

/** A row as it is in the database or goes there. */
type Fields = Record<string, unknown>;

/**
 * The statements of lists by key, prepared once for an entity of which TypeORM does no more than to read and write columns: for each
 * query it builds them anew, which takes longer than the database does.
 */
export class RowStatements<Entity extends ObjectLiteral> {
  private static readonly known = new WeakMap<EntityMetadata, RowStatements<ObjectLiteral> | null>();

  /** Undefined for an entity of which it does more. */
  static of<Entity extends ObjectLiteral>(metadata: EntityMetadata): RowStatements<Entity> | undefined {
    let statements = this.known.get(metadata);
    if (statements === undefined) {
      statements = isPlain(metadata) ? new RowStatements<ObjectLiteral>(metadata) : null;
      this.known.set(metadata, statements);
    }
    return (statements as RowStatements<Entity> | null) ?? undefined;
  }

  private readonly columns: readonly ColumnMetadata[];
  /** Of these, those whose values are left as they are. */
  private readonly kept: readonly boolean[];
  private readonly driver: Driver;
  private readonly table: string;
  private readonly pages = new Map<string, Pick<Statement, 'text' | 'name'>>();
  private readonly inserts = new Map<string, Pick<Statement, 'text' | 'name'>>();

  private readonly entity: Type<Entity>;

  private constructor(metadata: EntityMetadata) {
    this.entity = metadata.target as Type<Entity>;
    this.columns = metadata.columns;
    this.kept = metadata.columns.map(({ type }) => KEPT.has(type));
    this.driver = metadata.dataSource.driver;
    this.table = quotedTable(metadata);
  }

  /**
   * The newest rows, or those after a key, newest first.
   *
   * @param count - of rows, at most. Part of the text: not knowing it, the server would plan for a tenth of the table.
   */
  newest(after: string | undefined, count: number): Statement {
    const isFirst = after === undefined;
    const place = `${isFirst ? 'first' : 'next'} ${count}`;
    let page = this.pages.get(place);
    if (!page) {
      const columns = this.columns.map((column) => this.driver.escape(column.databaseName)).join(', ');
      const key = this.keyColumn();
      const where = isFirst ? '' : ` WHERE ${key} < $1`;
      page = named(`SELECT ${columns} FROM ${this.table}${where} ORDER BY ${key} DESC LIMIT ${count}`);
      this.pages.set(place, page);
    }
    return { ...page, values: isFirst ? [] : [after] };
  }

  /** Adds a row. What is undefined gets what the table has for it. */
  insert(fields: Fields): Statement {
    const given = this.columns.filter(({ propertyName }) => fields[propertyName] !== undefined);
    const names = given.map(({ databaseName }) => this.driver.escape(databaseName)).join(', ');
    let insert = this.inserts.get(names);
    if (!insert) {
      const places = given.map((_, place) => `$${place + 1}`).join(', ');
      const text = `INSERT INTO ${this.table} (${names}) VALUES (${places})`;
      insert = this.inserts.size < MOST_INSERTS ? named(text) : { text };
      if (insert.name !== undefined) {
        this.inserts.set(names, insert);
      }
    }
    const values = given.map((column) => this.driver.preparePersistentValue(fields[column.propertyName], column) as unknown);
    return { ...insert, values };
  }

  /** What TypeORM makes of a row that {@link newest} found. */
  readonly row = (values: readonly unknown[]): Entity => {
    const { columns, kept, driver } = this;
    const row: Fields = new this.entity();
    for (let place = 0; place < columns.length; place += 1) {
      const column = columns[place] as ColumnMetadata;
      const value = values[place];
      row[column.propertyName] = kept[place] ? value : (driver.prepareHydratedValue(value, column) as unknown);
    }
    return row as Entity;
  };

  private keyColumn(): string {
    const key = this.columns.find(({ propertyName }) => propertyName === 'id');
    return this.driver.escape(key?.databaseName ?? 'id');
  }
}

/** The server cuts off names after 63 bytes. */
function named(text: string): Pick<Statement, 'text' | 'name'> {
  return { text, name: hash('sha256', text, 'base64url') };
}

/** Whether TypeORM does nothing but read and write its columns. */
function isPlain(metadata: EntityMetadata): boolean {
  const { columns, relations, embeddeds, tableType, childEntityMetadatas, parentEntityMetadata, dataSource } = metadata;
  const listeners = [metadata.afterLoadListeners, metadata.beforeInsertListeners, metadata.afterInsertListeners].flat();
  return (
    tableType === 'regular' &&
    (parentEntityMetadata as unknown) === undefined &&
    [...relations, ...embeddeds, ...childEntityMetadatas, ...listeners, ...dataSource.subscribers].length === 0 &&
    columns.every(isPlainColumn)
  );
}

function isPlainColumn(column: ColumnMetadata): boolean {
  const { type, transformer, isSelect, isInsert, isArray, generatedType } = column;
  const isSpecial =
    [column.isGenerated, column.isVirtual, column.isVirtualProperty, column.isVersion, column.isDiscriminator, isArray].some(
      Boolean,
    ) || [column.isCreateDate, column.isUpdateDate, column.isDeleteDate, column.isTreeLevel].some(Boolean);
  return (
    !isSpecial &&
    isSelect &&
    isInsert &&
    transformer === undefined &&
    generatedType === undefined &&
    (KEPT.has(type) || CONVERTED.has(type))
  );
}
