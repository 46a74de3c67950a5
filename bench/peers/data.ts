import type { Client } from 'pg';
import { generateToken } from '#service/platform/auth/token-format';
import { Database } from '../database.ts';

/** What all servers work with. */
export interface Data {
  readonly url: string;
  /** To the database. */
  readonly client: Client;
  readonly tokens: readonly string[];
  /** More than the service remembers. */
  readonly manyTokens: readonly string[];
  /** Well-formed, and never issued. */
  readonly unknownTokens: readonly string[];
  /** Deletes what was created, so that all servers find the same table. */
  reset(): Promise<void>;
  drop(): Promise<void>;
}

const ITEMS = 1_000_000;
const TOKENS = 200;
const MANY_TOKENS = 15_000;

/** The time of the id in a column, as other services store it; the service itself does not use this column. */
const CREATED_AT = `ALTER TABLE items ADD COLUMN created_at timestamptz NOT NULL
  GENERATED ALWAYS AS (to_timestamp(('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0)) STORED`;

/** @param items - rows in the table */
export async function createData(items = ITEMS): Promise<Data> {
  const database = await Database.create();
  const { url, client } = database;
  try {
    await client.query(CREATED_AT);
    // The table is vacuumed between the measurements.
    await client.query('ALTER TABLE items SET (autovacuum_enabled = off)');
    await database.fillTo(items);
    const newest = await database.keyAtDepth(1);
    const tokens = await database.issueTokens(TOKENS);
    const manyTokens = await database.issueTokens(MANY_TOKENS);
    await client.query('VACUUM ANALYZE');
    const reset = async () => {
      await client.query('DELETE FROM items WHERE id > $1', [newest]);
      await client.query('TRUNCATE idempotency_keys');
      await client.query('VACUUM items');
    };
    const unknownTokens = Array.from({ length: TOKENS }, generateToken);
    return { url, client, tokens, manyTokens, unknownTokens, reset, drop: () => database.drop() };
  } catch (error) {
    await database.drop();
    throw error;
  }
}
