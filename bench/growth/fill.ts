import type { Client } from 'pg';
import { itemsSql } from '../lists/database.ts';
import { inParts } from '../progress.ts';

const PART = 20_000;

/** Adds items until there are so many. Indexes other than the primary key are built anew afterwards, which takes far less time. */
export async function fillTo(client: Client, from: number, size: number): Promise<void> {
  await client.query(`SET synchronous_commit = off; SET maintenance_work_mem = '1GB'`);
  const { rows } = await client.query<{ indexname: string; indexdef: string }>(
    `SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'items' AND indexname <> 'items_pkey'`,
  );
  for (const { indexname } of rows) await client.query(`DROP INDEX ${indexname}`);
  await inParts('rows of items', size - from, PART, async (first, last) => {
    await client.query(`INSERT INTO items (id, name, description) ${itemsSql(from + first, from + last)}`);
  });
  await inParts('indexes', rows.length, 1, async (first) => {
    await client.query(rows[first - 1]?.indexdef ?? '');
  });
  await client.query('VACUUM ANALYZE items');
  // So that the measurements do not share the disk with what was written here.
  await client.query('CHECKPOINT');
}
