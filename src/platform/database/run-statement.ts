import type { ClientBase, Pool } from 'pg';
import type { DataSource, EntityMetadata, ObjectLiteral, Repository } from 'typeorm';
import { poolOf } from './app-data-source.js';
import type { DatabaseClientConfig } from './database-client.js';
import { sqlState } from './database-problem.js';
import { send, type Send, type Statement } from './send-statement.js';
import { type OpenConnection, SharedConnections } from './shared-connections.js';
import { transactionOf } from './transactions.js';

/** SQLSTATE of a plan that its table has outgrown, and of a name that the server does not know, or knows for something else. */
const USELESS_NAME = /^(?:0A000|26000|42P05)$/;

/** Connections that the reads of one entity share, at most. */
const MOST_SHARED = 4;

/** By entity. The metadata is that of one data source. */
const sharedConnections = new WeakMap<EntityMetadata, SharedConnections>();

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

/** The same for one that only reads, little and not for long. Those of an entity share connections: a lock on its table holds up no other. */
export function runRead<Entity extends ObjectLiteral>(repository: Repository<Entity>, statement: Statement) {
  const { manager, metadata } = repository;
  return hasSessions(manager.dataSource)
    ? run(repository, statement, (each) => sharedBy(metadata).send(each))
    : runStatement(repository, statement);
}

function sharedBy(metadata: EntityMetadata): SharedConnections {
  let connections = sharedConnections.get(metadata);
  if (!connections) {
    const pool = () => poolOf(metadata.dataSource);
    const mayOpen = (count: number) => {
      const { options, idleCount, totalCount } = pool();
      // Half of the pool is left for all else.
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

/** Whether the statements of a connection follow each other in one session of a server. */
export function hasSessions({ options }: DataSource): boolean {
  return (options.extra as DatabaseClientConfig | undefined)?.hasSessions === true;
}
