import { type ClientBase, type Pool, Query, type QueryConfig } from 'pg';
import { type DataSource, type EntityMetadata, type ObjectLiteral, QueryFailedError, type Repository } from 'typeorm';
import { poolOf, transactionOf } from './app-data-source.js';
import type { DatabaseClientConfig } from './database-client.js';
import { sqlState } from './database-problem.js';
import { type OpenConnection, SharedConnections } from './shared-connections.js';

/** A statement that bypasses TypeORM, whose overhead is as large as the database's time. */
export interface Statement {
  readonly text: string;
  readonly values: unknown[];
  /** Name of a prepared statement; undefined to plan the statement for its values. */
  readonly name?: string | undefined;
  /** Whether `pg` returns all its columns as text. */
  readonly isText?: boolean;
}

/** Sends a statement. @returns the values of each row, in the order of the columns */
export type Send = (statement: Statement) => Promise<unknown[][]>;

/** SQLSTATE of a prepared statement that does not exist, exists already, or whose table has changed. */
const USELESS_NAME = /^(?:0A000|26000|42P05)$/;

/** Maximum connections that the reads of one entity share. */
const MOST_SHARED = 4;

/** By entity, so that a lock on one table does not block reads of others. Each data source has its own metadata. */
const sharedConnections = new WeakMap<EntityMetadata, SharedConnections>();

/** Runs a statement, in the current transaction if there is one. @throws QueryFailedError, or the pool's error */
export function runStatement<Entity extends ObjectLiteral>(repository: Repository<Entity>, statement: Statement) {
  return run(repository, statement, async (each) => {
    const client = await poolOf(repository.manager.dataSource).connect();
    try {
      return await send(client, each);
    } finally {
      client.release();
    }
  });
}

/** Runs a short read on connections that the reads of an entity share. */
export function runRead<Entity extends ObjectLiteral>(repository: Repository<Entity>, statement: Statement) {
  const { manager, metadata } = repository;
  return hasSessions(manager.dataSource)
    ? run(repository, statement, (each) => sharedBy(metadata).use((client) => send(client, each)))
    : runStatement(repository, statement);
}

function sharedBy(metadata: EntityMetadata): SharedConnections {
  let connections = sharedConnections.get(metadata);
  if (!connections) {
    const pool = () => poolOf(metadata.dataSource);
    const mayOpen = (count: number) => {
      const { options, idleCount, totalCount } = pool();
      // Half of the pool stays free for other work.
      return count < Math.min(MOST_SHARED, options.max / 2) && (idleCount > 0 || totalCount < options.max);
    };
    connections = new SharedConnections(() => open(pool()), mayOpen);
    sharedConnections.set(metadata, connections);
  }
  return connections;
}

async function open(pool: Pool): Promise<OpenConnection> {
  const client = await pool.connect();
  return { client, release: () => client.release() };
}

async function run<Entity extends ObjectLiteral>({ manager }: Repository<Entity>, statement: Statement, sendAlone: Send) {
  const { dataSource } = manager;
  const unnamed = { ...statement, name: undefined };
  const runner = manager.queryRunner ?? transactionOf(dataSource)?.runner;
  if (runner) {
    return send((await runner.connect()) as ClientBase, unnamed);
  }
  try {
    return await sendAlone(hasSessions(dataSource) ? statement : unnamed);
  } catch (error) {
    if (USELESS_NAME.test(sqlState(error))) {
      return sendAlone(unnamed);
    }
    throw error;
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

/** Whether connections are sessions on a server: false behind a pooler and for the embedded database. */
export function hasSessions({ options }: DataSource): boolean {
  return (options.extra as DatabaseClientConfig | undefined)?.hasSessions === true;
}
