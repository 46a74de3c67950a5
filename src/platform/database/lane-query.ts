import { Query, type QueryArrayResult } from 'pg';

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
export class LaneQuery extends QueryWithHandlers {
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
