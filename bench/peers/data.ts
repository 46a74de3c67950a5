import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { digestOf, generateToken, lastFourOf } from '#service/platform/auth/token-format';
import { newId } from '#service/platform/database/id';
import { createDatabase } from '../database.ts';
import { itemsSql } from '../lists/database.ts';
import { migrate } from '../service.ts';
import { ITEMS, TOKENS } from './settings.ts';

/** What all servers work with. */
export interface Data {
  readonly url: string;
  readonly tokens: readonly string[];
  /** Well-formed, and never issued. */
  readonly strangers: readonly string[];
  /** The same, one a line. */
  readonly files: { readonly tokens: string; readonly strangers: string };
  /** Takes away what was created, so that all servers find the same table. */
  reset(): Promise<void>;
  drop(): Promise<void>;
}

/** The time that is in the id, as other services would store it; the service itself leaves this column alone. */
const CREATED_AT = `ALTER TABLE items ADD COLUMN created_at timestamptz NOT NULL
  GENERATED ALWAYS AS (to_timestamp(('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0)) STORED`;

/** Makes the service's tables in a database of its own, and fills them. */
export async function createData(): Promise<Data> {
  const { url, drop: dropDatabase } = await createDatabase();
  const directory = await mkdtemp(join(tmpdir(), 'items-bench-'));
  const client = new Client(url);
  const drop = async () => {
    await client.end();
    await dropDatabase();
    await rm(directory, { recursive: true });
  };
  try {
    await migrate(url);
    await client.connect();
    const newest = await fillItems(client);
    const tokens = Array.from({ length: TOKENS }, generateToken);
    const strangers = Array.from({ length: TOKENS }, generateToken);
    await issue(client, tokens);
    await client.query('VACUUM ANALYZE');
    await client.query('CHECKPOINT');
    const files = { tokens: join(directory, 'tokens'), strangers: join(directory, 'strangers') };
    await writeFile(files.tokens, tokens.join('\n'));
    await writeFile(files.strangers, strangers.join('\n'));
    const reset = async () => {
      await client.query('DELETE FROM items WHERE id > $1', [newest]);
      await client.query('VACUUM items');
    };
    return { url, tokens, strangers, files, reset, drop };
  } catch (error) {
    await drop();
    throw error;
  }
}

/** @returns the id of the newest item */
async function fillItems(client: Client): Promise<string | undefined> {
  await client.query(CREATED_AT);
  // What is to be cleaned is cleaned between the measurements.
  await client.query('ALTER TABLE items SET (autovacuum_enabled = off)');
  await client.query(`INSERT INTO items (id, name, description) ${itemsSql(1, ITEMS)}`);
  const { rows } = await client.query<{ id: string }>('SELECT id FROM items ORDER BY id DESC LIMIT 1');
  return rows[0]?.id;
}

async function issue(client: Client, tokens: readonly string[]): Promise<void> {
  for (const token of tokens) {
    await client.query('INSERT INTO access_tokens (id, name, digest, last_four, created_at) VALUES ($1, $2, $3, $4, now())', [
      newId(),
      'bench',
      digestOf(token),
      lastFourOf(token),
    ]);
  }
}
