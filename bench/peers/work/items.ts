import { v7 } from 'uuid';
import { encodeCursor } from './cursor.ts';
import { database } from './database.ts';
import type { NewItem } from './new-item.ts';
import type { PageQuery } from './page-query.ts';

interface Row<Time> {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly created_at: Time;
}

export interface Item<Time> {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly createdAt: Time;
}

export interface Page<Time> {
  readonly items: Item<Time>[];
  readonly nextCursor?: string;
}

/** Reads and writes items, whose times are dates or texts. */
export class Items<Time> {
  private readonly columns: string;

  private constructor(createdAt: string) {
    this.columns = `id, name, description, ${createdAt} AS created_at`;
  }

  /** The ordinary way: `pg` makes dates of times, and JSON.stringify texts of dates. */
  static withDates(): Items<Date> {
    return new Items('created_at');
  }

  /** The database makes texts of times, which stay what they are. */
  static withTexts(): Items<string> {
    return new Items(`to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`);
  }

  async findPage({ limit, after, prefix, filter }: PageQuery): Promise<Page<Time>> {
    const values: unknown[] = [limit + 1];
    const conditions: string[] = [];
    if (after !== undefined) {
      conditions.push(`id < $${values.push(after)}`);
    }
    if (prefix !== undefined) {
      conditions.push(`name COLLATE "C" ^@ $${values.push(prefix)}`);
    }
    const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
    const { rows } = await database.query<Row<Time>>(
      `SELECT ${this.columns} FROM items ${where} ORDER BY id DESC LIMIT $1`,
      values,
    );
    const items = rows.slice(0, limit).map(itemOf);
    const last = items.at(-1);
    return rows.length > limit && last ? { items, nextCursor: encodeCursor(last.id, filter) } : { items };
  }

  async add({ name, description }: NewItem): Promise<Item<Time>> {
    const { rows } = await database.query<Row<Time>>(
      `INSERT INTO items (id, name, description) VALUES ($1, $2, $3) RETURNING ${this.columns}`,
      [v7(), name, description],
    );
    const [row] = rows;
    if (!row) {
      throw new Error('The database returned no row.');
    }
    return itemOf(row);
  }
}

function itemOf<Time>({ id, name, description, created_at: createdAt }: Row<Time>): Item<Time> {
  return description === null ? { id, name, createdAt } : { id, name, description, createdAt };
}
