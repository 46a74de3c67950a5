import { type ClientBase, Query, type QueryConfig } from 'pg';
import { type DataSource, type ObjectLiteral, QueryFailedError, type Repository } from 'typeorm';
import { poolOf, runnerOf } from './app-data-source.js';
import { sqlState } from './database-problem.js';
import { hasSessions, type OpenConnection, SharedConnections } from './shared-connections.js';

/** A statement that bypasses TypeORM, whose overhead is as large as the database's time. */
export interface Statement {
  readonly text: string;
  readonly values: unknown[];
  /** Name of a prepared statement; undefined to plan the statement for its values. */
  readonly name?: string | undefined;
  /** Whether `pg` returns all its columns as text. */
  readonly isText?: boolean;
  /** Whether it is a short read, which shares a connection with others of the entity. */
  readonly isShort?: boolean;
}

/** Sends a statement. @returns the values of each row, in the order of the columns */
export type Send = (statement: Statement) => Promise<unknown[][]>;

/** SQLSTATE of a prepared statement that does not exist, exists already, or whose table has changed. */
const USELESS_NAME = /^(?:0A000|26000|42P05)$/;

/** Maximum connections that the reads of one entity share. */
const MOST_SHARED = 4;

/** Half of the pool stays free for other work. */
const sharedConnections = new SharedConnections(open, (dataSource, count) => {
  const { options, idleCount, totalCount } = poolOf(dataSource);
  return count < Math.min(MOST_SHARED, options.max / 2) && (idleCount > 0 || totalCount < options.max);
});

async function open(dataSource: DataSource): Promise<OpenConnection> {
  const client = await poolOf(dataSource).connect();
  return { client, release: () => client.release() };
}

/** Runs a statement, in the current transaction if there is one. @throws QueryFailedError, or the pool's error */
export async function runStatement<Entity extends ObjectLiteral>(
  { manager, metadata }: Repository<Entity>,
  statement: Statement,
): Promise<unknown[][]> {
  const { dataSource } = manager;
  const unnamed = { ...statement, name: undefined };
  const runner = runnerOf(manager);
  if (runner) {
    return send((await runner.connect()) as ClientBase, unnamed);
  }
  if (!hasSessions(dataSource)) {
    return sendAlone(dataSource, unnamed);
  }
  const run: Send = (each) =>
    each.isShort ? sharedConnections.use(metadata, (client) => send(client, each)) : sendAlone(dataSource, each);
  try {
    return await run(statement);
  } catch (error) {
    if (USELESS_NAME.test(sqlState(error))) {
      return run(unnamed);
    }
    throw error;
  }
}

async function sendAlone(dataSource: DataSource, statement: Statement): Promise<unknown[][]> {
  const { client, release } = await open(dataSource);
  try {
    return await send(client, statement);
  } finally {
    release();
  }
}

/** The interface between `pg` and its queries, which `pg-cursor` also uses and the types omit. */
const QueryWithHandlers = Query as unknown as new (
  text: string,
  values: unknown[],
) => {
  name: string | undefined;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: { readonly fields: unknown[] }): void;
};

/** Collects rows as they arrive. `pg` copies each query and converts each row, which makes a first page 1.5 times as slow. */
class TextQuery extends QueryWithHandlers {
  readonly texts: unknown[][] = [];

  override handleRowDescription(): void {
    // All columns are text.
  }

  override handleDataRow({ fields }: { readonly fields: unknown[] }): void {
    this.texts.push(fields);
  }
}

/** Sends a statement on a connection. @throws QueryFailedError */
export async function send(client: ClientBase, { text, values, name, isText }: Statement): Promise<unknown[][]> {
  try {
    if (isText) {
      const query = Object.assign(new TextQuery(text, values), { name });
      await client.query(query as unknown as QueryConfig);
      return query.texts;
    }
    const { rows } = await client.query<unknown[]>({ text, values, ...(name !== undefined && { name }), rowMode: 'array' });
    return rows;
  } catch (error) {
    throw new QueryFailedError(text, values, error as Error);
  }
}
