import { hash } from 'node:crypto';
import type { Type } from '@nestjs/common';
import { type EntityMetadata, type FindOptionsWhere, In, type ObjectLiteral, type Repository } from 'typeorm';
import { AppDataSource } from '../database/app-data-source.js';
import { quotedTable, type Statement } from '../database/database-client.js';
import { encodeCursor } from './cursor.js';
import type { Page, PageQuery } from './page.js';
import { columnOf, type Restriction, type Sources } from './sources.js';

/** Column types whose values are texts for both `pg` and TypeORM. */
const TEXT_TYPES: ReadonlySet<string> = new Set(['uuid', 'text', 'character varying']);

/** Maximum prepared statements of an entity and kind. Their texts differ in the number of rows and columns. */
const MOST_NAMES = 256;

/** Column values by property. */
export type Fields = Readonly<Record<string, unknown>>;

/** Makes a page of the rows of {@link statementForFirst}. */
export async function pageOf<Entity extends { id: string }>(
  repository: Repository<Entity>,
  found: readonly unknown[][],
  { limit, filter }: PageQuery<Entity>,
  { base, digest: listDigest }: Restriction,
): Promise<Page<Entity>> {
  const statements = statementsOf(repository);
  const rows = found.slice(0, limit);
  const keyIndex = statements?.keyIndex ?? 0;
  const idOf = (row: readonly unknown[]) => row[keyIndex] as string;
  const items = statements ? (statements.hydrate(rows) as Entity[]) : await findInOrder(repository, rows.map(idOf), base);
  const last = found.length > limit ? rows.at(-1) : undefined;
  if (!last) {
    return { items };
  }
  const position = { id: idOf(last), listDigest, value: last.at(-1) as string };
  return { items, nextCursor: encodeCursor(position, filter?.expression ?? '') };
}

/** Selects the first rows of a source: all columns, or the key if TypeORM then reads the rows; and the sort value. */
export function statementForFirst<Entity extends { id: string }>(
  repository: Repository<Entity>,
  { from, values, limit, sorting: { clause, value }, isFiltered }: Sources,
  source: keyof Sources['from'],
): Statement {
  const statements = statementsOf(repository);
  const columns = statements?.columns ?? [columnOf(repository.metadata, 'id').name];
  const selected = [...columns.map((column) => `r.${column}`), value].join(', ');
  // One extra row shows whether there are more. The limit is no parameter: PostgreSQL would plan for a tenth of the table.
  const text = `SELECT ${selected} FROM ${from[source]} ${clause} LIMIT ${limit + 1}`;
  const name = statements?.[isFiltered ? 'nameOfFilter' : 'nameOfPage'](text);
  return { text, values, isText: statements?.isText ?? true, name };
}

/** @param base - excludes rows that changed after their keys were found */
async function findInOrder<Entity extends { id: string }>(
  repository: Repository<Entity>,
  ids: string[],
  base: FindOptionsWhere<ObjectLiteral>,
): Promise<Entity[]> {
  const rows = await repository.find({ where: { ...base, id: In(ids) } as FindOptionsWhere<Entity> });
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

const statementsByEntity = new WeakMap<EntityMetadata, RowStatements | undefined>();

/** Undefined for entities that need more of TypeORM than columns, such as relations, listeners or transformers. */
export function statementsOf<Entity extends ObjectLiteral>({ metadata }: Repository<Entity>): RowStatements | undefined {
  return statementsByEntity.getOrInsertComputed(metadata, () => {
    if (!(metadata.dataSource instanceof AppDataSource)) {
      throw new Error(
        `The repository of ${metadata.name} is of another data source, whose reads would have no limits: ` +
          "pages are of the service's own data source.",
      );
    }
    return isPlain(metadata) ? rowStatements(metadata) : undefined;
  });
}

function isPlain(metadata: EntityMetadata): boolean {
  const { columns, relations, embeddeds, listeners, inheritancePattern, tableType, target, dataSource } = metadata;
  return (
    tableType === 'regular' &&
    // An `EntitySchema` need not have a class.
    typeof target === 'function' &&
    inheritancePattern === undefined &&
    // Values that the database generates would have to be read back. The first version is always 1.
    [relations, embeddeds, listeners, dataSource.subscribers].flat().length === 0 &&
    metadata.getInsertionReturningColumns().every(({ isVersion }) => isVersion) &&
    columns.every(
      ({ isSelect, isInsert, transformer, type }) =>
        isSelect && isInsert && !transformer && !dataSource.driver.spatialTypes.includes(type),
    )
  );
}

/** The name of a prepared statement, at most 63 bytes for PostgreSQL. */
const statementName = (text: string) => hash('sha256', text, 'base64url');

function naming(): (text: string) => string | undefined {
  const names = new Map<string, string>();
  return (text) => (names.size < MOST_NAMES ? names.getOrInsertComputed(text, statementName) : names.get(text));
}

type RowStatements = ReturnType<typeof rowStatements>;

/** The statements of an entity, built once: TypeORM builds each query anew, which takes longer than the database does. */
function rowStatements(metadata: EntityMetadata) {
  const { columns } = metadata;
  const { driver } = metadata.dataSource;
  const entity = metadata.target as Type<Record<string, unknown>>;
  const quoted = columns.map(({ databaseName }) => driver.escape(databaseName));
  const isText = columns.every((column) => TEXT_TYPES.has(driver.normalizeType(column)) && !column.isArray);
  const nameOfInsert = naming();

  return {
    columns: quoted,
    keyIndex: columns.findIndex(({ propertyName }) => propertyName === 'id'),
    isText,
    /** Names of reads, limited separately: clients choose the texts of filters, which must not use up the names of pages. */
    nameOfPage: naming(),
    nameOfFilter: naming(),

    insert: (rows: readonly Fields[]) => insertOf(metadata, rows, nameOfInsert),

    hydrate(found: readonly (readonly unknown[])[]): object[] {
      return found.map((values) => {
        const row = new entity();
        columns.forEach((column, index) => {
          const value = values[index];
          row[column.propertyName] = isText ? value : (driver.prepareHydratedValue(value, column) as unknown);
        });
        return row;
      });
    },
  };
}

/** An INSERT that returns no rows. Undefined values get the default of their column. */
function insertOf(metadata: EntityMetadata, rows: readonly Fields[], nameOfInsert: ReturnType<typeof naming>): Statement {
  const { driver } = metadata.dataSource;
  const given = metadata.columns.filter(({ propertyName }) => rows.some((fields) => fields[propertyName] !== undefined));
  const values: unknown[] = [];
  const tuples = rows.map((fields) => {
    const placeholders = given.map((column) => {
      const value = fields[column.propertyName];
      return value === undefined ? 'DEFAULT' : `$${values.push(driver.preparePersistentValue(value, column))}`;
    });
    return `(${placeholders.join(', ')})`;
  });
  const written = given.map(({ databaseName }) => driver.escape(databaseName)).join(', ');
  const text = `INSERT INTO ${quotedTable(metadata)} (${written}) VALUES ${tuples.join(', ')}`;
  // There are too many texts with defaults to prepare them.
  return { text, name: text.includes('DEFAULT') ? undefined : nameOfInsert(text), isText: true, values };
}
