import { type ClientBase, DatabaseError, type Pool, Query, type QueryArrayResult } from 'pg';
import { streamOf } from './database-client.js';
import { type DataSource, QueryFailedError } from 'typeorm';

/** A statement that is sent as it is, past TypeORM. */
export interface Statement {
  readonly text: string;
  readonly values: unknown[];
  /** The same for the same text: a connection keeps the plan under it. Undefined where none is to be kept. */
  readonly name?: string | undefined;
  /** Whether its columns are all of types that `pg` leaves as text. */
  readonly isText?: boolean;
}

/** What `pg` calls on a query, as `pg-cursor` and `pg-query-stream` know it, too. Its types leave that out. */
interface Handlers extends Query {
  name: string | undefined;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: { readonly fields: unknown[] }): void;
}

const QueryWithHandlers = Query as unknown as new (...query: readonly unknown[]) => Handlers;

/** A query whose rows are lists of values. Where all of these are texts, rows are taken as they arrive. */
class LaneQuery extends QueryWithHandlers {
  private readonly isText: boolean;
  private readonly texts: unknown[][] = [];

  constructor({ text, values, name, isText = false }: Statement) {
    // `pg` copies a query that is not a text, property by property.
    super(...(isText ? [text, values] : [{ text, values, rowMode: 'array' }]));
    this.name = name;
    this.isText = isText;
  }

  override handleRowDescription(message: unknown): void {
    if (!this.isText) {
      super.handleRowDescription(message);
    }
  }

  override handleDataRow(message: { readonly fields: unknown[] }): void {
    if (this.isText) {
      this.texts.push(message.fields);
    } else {
      super.handleDataRow(message);
    }
  }

  /** @param result - what `pg` has made of the answer */
  rowsOf(result: QueryArrayResult<unknown[]>): unknown[][] {
    return this.isText ? this.texts : result.rows;
  }
}

/** A statement that is sent and not answered yet. */
export interface Pending {
  readonly statement: Statement;
  readonly resolve: (rows: unknown[][]) => void;
  readonly reject: (error: unknown) => void;
}

/** A connection, and how it is given back to its pool. */
interface Borrowed {
  readonly client: ClientBase;
  readonly release: () => void;
}

/** Takes a connection from the pool of a data source. @throws what the pool throws when it has none */
export async function borrow(dataSource: DataSource): Promise<Borrowed> {
  const driver = dataSource.driver as unknown as { obtainMasterConnection(): Promise<[ClientBase, () => void]> };
  const [client, release] = await driver.obtainMasterConnection();
  return { client, release };
}

/** The pool of `pg` behind a data source, which TypeORM's types leave out. */
export function poolOf({ driver }: DataSource): Pool {
  return (driver as unknown as { master: Pool }).master;
}

/** A connection on which statements are sent behind each other. */
export class Lane {
  /** In the order in which they are answered. */
  readonly pending: Pending[] = [];
  /** How many were answered so far. */
  answered = 0;
  private isCorked = false;
  /** Whether an error says that nothing more can be sent. */
  isBroken = false;

  /** @param onAnswer - called after each answer */
  constructor(
    private readonly client: ClientBase,
    private readonly onAnswer: () => void = () => undefined,
  ) {}

  /** @returns the values of each row, in the order of the statement's columns */
  run(statement: Statement): Promise<unknown[][]> {
    return new Promise((resolve, reject) => {
      this.send({ statement, resolve, reject });
    });
  }

  /** What is sent in this turn of the event loop goes out in one write, at its end. */
  holdUntilEndOfTurn(): void {
    if (!this.isCorked) {
      const stream = streamOf(this.client);
      this.isCorked = true;
      stream.cork();
      setImmediate(() => {
        this.isCorked = false;
        stream.uncork();
      });
    }
  }

  private send(pending: Pending): void {
    const { statement } = pending;
    const query = new LaneQuery(statement);
    const settle = (error: Error | null, result: QueryArrayResult<unknown[]>) => {
      this.pending.splice(this.pending.indexOf(pending), 1);
      this.answered += 1;
      if (error) {
        this.isBroken ||= !(error instanceof DatabaseError);
        pending.reject(new QueryFailedError(statement.text, statement.values, error));
      } else {
        pending.resolve(query.rowsOf(result));
      }
      this.onAnswer();
    };
    this.pending.push(pending);
    // With a callback: `pg` makes three promises otherwise.
    void this.client.query(query as never, settle as never);
  }
}
