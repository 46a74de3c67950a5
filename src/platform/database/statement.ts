import type { Duplex } from 'node:stream';
import { type ClientBase, Query, type QueryConfig } from 'pg';
import { QueryFailedError } from 'typeorm';
import { sqlState } from './database-problem.js';

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

/** Whether a prepared statement does not exist, exists already, or its table has changed. */
export function hasUselessName(error: unknown): boolean {
  return /^(?:0A000|26000|42P05)$/.test(sqlState(error));
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

/** The socket of a client, which the types of `pg` omit. */
export function streamOf(client: ClientBase): Duplex {
  return (client as unknown as { connection: { stream: Duplex } }).connection.stream;
}
