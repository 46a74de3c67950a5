import type { Client } from 'pg';
import { inParts } from '../progress.ts';
import { insertItems, type ItemValues, ITEMS, itemsSql } from './database.ts';

/** Rows that are inserted into each table, and how many of them before it is the other's turn. */
const ROWS = 20_000;
const TURN = 1000;

/** What a trigram index on the description would cost, as ratios. */
export interface IndexCost {
  readonly sizeToTable: number;
  readonly sizeToOtherIndexes: number;
  /** By way of inserting: its time with the index, as a multiple of that without it. */
  readonly inserts: Readonly<Record<string, number>>;
}

/** A way to insert rows into a table. */
type Insert = (client: Client, table: string, rows: readonly ItemValues[]) => Promise<void>;

/** As the service does, and with less and less beside it that hides the cost of the index. */
const WAYS: Readonly<Record<string, Insert>> = {
  'each row committed': insertEach,
  '1,000 rows in a transaction': async (client, table, rows) => {
    await client.query('BEGIN');
    await insertEach(client, table, rows);
    await client.query('COMMIT');
  },
  '1,000 rows in a statement': async (client, table, rows) => {
    await client.query(`INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`, [JSON.stringify(rows)]);
  },
};

export async function measureDescriptionIndex(client: Client): Promise<IndexCost> {
  await copyItems(client, 'items_plain');
  await copyItems(client, 'items_indexed');
  await client.query(
    'CREATE INDEX items_description_trigrams ON items_indexed USING gin (description gin_trgm_ops) WITH (fastupdate = off)',
  );
  await client.query('VACUUM ANALYZE items_plain, items_indexed');
  const { rows } = await client.query<Pick<IndexCost, 'sizeToTable' | 'sizeToOtherIndexes'>>(
    `SELECT pg_relation_size('items_description_trigrams')::float8 / pg_table_size('items_plain') AS "sizeToTable",
            pg_relation_size('items_description_trigrams')::float8 / pg_indexes_size('items_plain') AS "sizeToOtherIndexes"`,
  );
  const [sizes] = rows;
  if (!sizes) {
    throw new Error('The sizes of the indexes cannot be read.');
  }
  const inserts: Record<string, number> = {};
  for (const [index, [way, insert]] of Object.entries(WAYS).entries()) {
    inserts[way] = await compareInserts(client, ITEMS + index * ROWS, insert);
  }
  return { ...sizes, inserts };
}

/** The table with its indexes; filled first, because to build them afterwards is quicker. */
async function copyItems(client: Client, copy: string): Promise<void> {
  await client.query(`CREATE TABLE ${copy} (LIKE items)`);
  await insertItems(client, copy);
  const { rows } = await client.query<{ definition: string }>(
    `SELECT replace(replace(indexdef, indexname, '${copy}_' || indexname), schemaname || '.items ', '${copy} ') AS definition
     FROM pg_indexes WHERE tablename = 'items'`,
  );
  for (const { definition } of rows) {
    await client.query(definition);
  }
}

async function compareInserts(client: Client, offset: number, insert: Insert): Promise<number> {
  const times = { items_plain: 0, items_indexed: 0 };
  await inParts('rows, with the index and without', ROWS, TURN, async (first, last) => {
    const { rows } = await client.query<ItemValues>(itemsSql(offset + first, offset + last));
    for (const table of ['items_plain', 'items_indexed'] as const) {
      const start = performance.now();
      await insert(client, table, rows);
      times[table] += performance.now() - start;
    }
  });
  // Sums, because the index is brought up to date now and then: the median turn would leave out most of its cost.
  return times.items_indexed / times.items_plain;
}

async function insertEach(client: Client, table: string, rows: readonly ItemValues[]): Promise<void> {
  for (const { id, name, description } of rows) {
    await client.query(`INSERT INTO ${table} (id, name, description) VALUES ($1, $2, $3)`, [id, name, description]);
  }
}
