import { createHash } from 'node:crypto';
import type { ObjectSchema, StringSchema } from 'fast-json-stringify';
import { v7 } from 'uuid';
import { database } from './environment.ts';
import type { NewItem, PageQuery } from './input.ts';

interface Row {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly created_at: Date | string;
}

export interface Item {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly createdAt: Date | string;
}

export interface Page {
  readonly items: Item[];
  readonly nextCursor?: string;
}

const text: StringSchema = { type: 'string' };

/** JSON Schemas of the responses, for serializers that are compiled. */
export const itemSchema: ObjectSchema = {
  type: 'object',
  properties: { id: text, name: text, description: text, createdAt: { type: 'string', format: 'date-time' } },
  required: ['id', 'name', 'createdAt'],
};

export const pageSchema: ObjectSchema = {
  type: 'object',
  properties: { items: { type: 'array', items: itemSchema }, nextCursor: text },
  required: ['items'],
};

/** Times that the database formats, so that neither `pg` nor JSON.stringify converts them. */
export const TIME_AS_TEXT = `to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Reads and writes items. */
export class Items {
  private readonly columns: string;

  constructor(createdAt = 'created_at') {
    this.columns = `id, name, description, ${createdAt} AS created_at`;
  }

  async findPage({ limit, after, word, filter }: PageQuery): Promise<Page> {
    const values: unknown[] = [limit + 1];
    const conditions: string[] = [];
    if (after !== undefined) {
      conditions.push(`id < $${values.push(after)}`);
    }
    if (word !== undefined) {
      conditions.push(`name LIKE $${values.push(`%${word}%`)}`);
    }
    const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
    const { rows } = await database.query<Row>(
      `SELECT ${this.columns} FROM items ${where} ORDER BY id DESC LIMIT $1`,
      values,
    );
    const items = rows.slice(0, limit).map(itemOf);
    const last = items.at(-1);
    return rows.length > limit && last ? { items, nextCursor: encodeCursor(last.id, filter) } : { items };
  }

  async add({ name, description }: NewItem): Promise<Item> {
    const { rows } = await database.query<Row>(
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

function itemOf({ id, name, description, created_at: createdAt }: Row): Item {
  return description === null ? { id, name, createdAt } : { id, name, description, createdAt };
}

/** The key of the last row of a page, and a digest of it and the filter. */
function encodeCursor(id: string, filter: string): string {
  const key = Buffer.from(id.replaceAll('-', ''), 'hex');
  const digest = createHash('sha256').update(key).update(filter).digest().subarray(0, 16);
  return Buffer.concat([key, digest]).toString('base64url');
}

/** The key, or undefined for what is no cursor of a list with this filter. */
export function decodeCursor(cursor: string, filter: string): string | undefined {
  const hex = Buffer.from(cursor, 'base64url').toString('hex', 0, 16);
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return id.length === 36 && encodeCursor(id, filter) === cursor ? id : undefined;
}
