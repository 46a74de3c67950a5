import { type ClientBase, Query, type QueryConfig } from 'pg';
import { QueryFailedError } from 'typeorm';

/** A statement that is sent past TypeORM, which takes about as long for each as the database does. */
export interface Statement {
  readonly text: string;
  readonly values: unknown[];
  /** The same for the same text: a connection keeps the plan under it. Undefined where none is to be kept. */
  readonly name?: string | undefined;
  /** Whether its columns are all of types that `pg` leaves as text. */
  readonly isText?: boolean;
}

/** Sends a statement. @returns the values of each row, in the order of the statement's columns */
export type Send = (statement: Statement) => Promise<unknown[][]>;

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

/**
 * Sends a statement on a connection.
 *
 * @returns the values of each row, in the order of the statement's columns
 * @throws QueryFailedError
 */
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
