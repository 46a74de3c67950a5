import type { ClientBase } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { borrow, Lane, type Statement } from './lane.js';
import { SharedReads } from './shared-reads.js';
import { sqlState } from './sql-state.js';

/** SQLSTATE of a plan that its table has outgrown, and of a name that the server does not know, or knows for something else. */
const USELESS_NAME = /^(?:0A000|26000|42P05)$/;

const sharedReads = new WeakMap<DataSource, SharedReads>();

/**
 * Runs a statement past TypeORM, which takes about as long for each as the database does: in the transaction of the manager, or
 * without one.
 *
 * @returns the values of each row, in the order of the statement's columns
 * @throws QueryFailedError, or what the pool throws when it has no connection
 */
export function runStatement(manager: EntityManager, statement: Statement): Promise<unknown[][]> {
  return run(manager, statement, false);
}

/** The same for one that only reads, little and not for long: it may share its connection with others. */
export function runRead(manager: EntityManager, statement: Statement): Promise<unknown[][]> {
  return run(manager, statement, true);
}

async function run({ queryRunner, dataSource }: EntityManager, given: Statement, mayShare: boolean): Promise<unknown[][]> {
  const toServer = isDirect(dataSource);
  const statement = toServer ? given : { ...given, name: undefined };
  const send = toServer && mayShare ? shared : alone;
  if (queryRunner) {
    return new Lane((await queryRunner.connect()) as ClientBase).run(statement);
  }
  try {
    return await send(dataSource, statement);
  } catch (error) {
    if (statement.name !== undefined && USELESS_NAME.test(sqlState(error))) {
      return send(dataSource, { ...statement, name: undefined });
    }
    throw error;
  }
}

async function alone(dataSource: DataSource, statement: Statement): Promise<unknown[][]> {
  const { client, release } = await borrow(dataSource);
  try {
    return await new Lane(client).run(statement);
  } finally {
    release();
  }
}

function shared(dataSource: DataSource, statement: Statement): Promise<unknown[][]> {
  const reads = sharedReads.get(dataSource) ?? new SharedReads(dataSource);
  sharedReads.set(dataSource, reads);
  return reads.run(statement);
}

/** Whether its connections are to a server, and not to a pooler or to the embedded database, which take one statement after the other. */
function isDirect({ options }: DataSource): boolean {
  const { extra } = options as { extra?: { pipeline?: boolean } };
  return extra?.pipeline === true;
}
