import type { Duplex } from 'node:stream';
import { type ClientBase, type Pool, type PoolClient, Query, type QueryConfig } from 'pg';
import { type DataSource, type EntityMetadata, type ObjectLiteral, QueryFailedError, type Repository } from 'typeorm';
import { poolOf } from './app-data-source.js';
import { type DatabaseClientConfig, streamOf } from './database-client.js';
import { sqlState } from './database-problem.js';
import { transactionOf } from './transactions.js';

/** A statement that is sent past TypeORM, which takes about as long for each as the database does. */
export interface Statement {
  readonly text: string;
  readonly values: unknown[];
  /** The same for the same text: a connection keeps the plan under it. Undefined where none is to be kept. */
  readonly name?: string | undefined;
  /** Whether its columns are all of types that `pg` leaves as text. */
  readonly isText?: boolean;
}

/** SQLSTATE of a plan that its table has outgrown, and of a name that the server does not know, or knows for something else. */
const USELESS_NAME = /^(?:0A000|26000|42P05)$/;

/** Reads that wait for a shared connection before there is another one, and how many of these an entity has at most. */
const ENOUGH = 16;
const MOST = 4;

/** A connection on which reads of one entity follow each other, without waiting for the results between them. */
interface SharedConnection {
  readonly client: Promise<PoolClient>;
  pending: number;
}

/** The metadata is that of one data source. */
const sharedConnections = new WeakMap<EntityMetadata, Set<SharedConnection>>();

type Send = (statement: Statement) => Promise<unknown[][]>;

/**
 * Runs a statement in the transaction that the running code is part of, or without one.
 *
 * @returns the values of each row, in the order of the statement's columns
 * @throws QueryFailedError, or what the pool throws when it has no connection
 */
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

/**
 * The same for one that only reads, little and not for long. Those of an entity share connections: the ones of one turn of the event
 * loop go out, and come back, in one piece, which takes half the processor time. A lock on its table holds up no other entity.
 */
export function runRead<Entity extends ObjectLiteral>(repository: Repository<Entity>, statement: Statement) {
  const { manager, metadata } = repository;
  return hasSessions(manager.dataSource)
    ? run(repository, statement, (each) => share(metadata, each))
    : runStatement(repository, statement);
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

async function share(metadata: EntityMetadata, statement: Statement): Promise<unknown[][]> {
  let connections = sharedConnections.get(metadata);
  if (!connections) {
    connections = new Set();
    sharedConnections.set(metadata, connections);
  }
  const pool = poolOf(metadata.dataSource);
  const connection = freest(connections, pool) ?? { client: pool.connect(), pending: 0 };
  connections.add(connection);
  connection.pending += 1;
  let client: PoolClient | undefined;
  try {
    client = await connection.client;
    holdUntilEndOfTurn(streamOf(client));
    return await send(client, statement);
  } finally {
    connection.pending -= 1;
    if (connection.pending === 0) {
      connections.delete(connection);
      client?.release();
    }
  }
}

/** The connection with the fewest reads; undefined where there is to be another one. */
function freest(
  connections: ReadonlySet<SharedConnection>,
  { options, idleCount, totalCount }: Pool,
): SharedConnection | undefined {
  const [first] = [...connections].toSorted((a, b) => a.pending - b.pending);
  // Half of the pool is left for all else.
  const mayOpen = connections.size < Math.min(MOST, options.max / 2) && (idleCount > 0 || totalCount < options.max);
  return first && first.pending >= ENOUGH && mayOpen ? undefined : first;
}

/** What is sent in this turn of the event loop goes out in one write, at its end. */
function holdUntilEndOfTurn(stream: Duplex): void {
  if (stream.writableCorked === 0) {
    stream.cork();
    setImmediate(() => {
      stream.uncork();
    });
  }
}

/** What `pg` calls on a query, as `pg-cursor` and `pg-query-stream` know it, too. Its types leave that out. */
const QueryWithHandlers = Query as unknown as new (
  text: string,
  values: unknown[],
) => {
  name: string | undefined;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: { readonly fields: unknown[] }): void;
};

/** Takes texts as they arrive. `pg` copies each query that is no text, and makes each row anew: a first page took 1.5 times as long. */
class TextQuery extends QueryWithHandlers {
  readonly texts: unknown[][] = [];

  override handleRowDescription(): void {
    // All columns are texts.
  }

  override handleDataRow({ fields }: { readonly fields: unknown[] }): void {
    this.texts.push(fields);
  }
}

async function send(client: ClientBase, { text, values, name, isText }: Statement): Promise<unknown[][]> {
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

function hasSessions({ options }: DataSource): boolean {
  return (options.extra as DatabaseClientConfig | undefined)?.hasSessions === true;
}
