import type { Client } from 'pg';
import { inParts } from '../progress.ts';

/** Items in the table; one was created each second. */
export const ITEMS = 1_000_000;

/** Rows that are inserted at once: so few that one sees it go on. */
const PART = 20_000;

/** Milliseconds since 1970 at which item 0 would have been created. */
const FIRST = Date.UTC(2026, 0, 1);

const COLOURS = 'red blue green black white yellow purple orange silver brown';
const NOUNS = 'bicycle lamp kettle table ladder guitar camera blanket hammer mirror';
/** 64, so that texts differ in their words and their trigrams, as texts that people write do. */
const WORDS =
  'brass pedal found behind wooden garden shed after long winter handle slightly bent seller offers rubber tyre with leather ' +
  'saddle original paint small scratch near front wheel works fine needs cleaning bought from family market street number ' +
  'heavy glass cover missing screw spare battery included year warranty expired collect only evening weekend morning cash ' +
  'price fixed never used still boxed manual lost quick sale moving abroad';

export interface ItemValues {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
}

/** The moment at which an item was created, by its number: 1 is the oldest, `ITEMS` the newest. */
export function createdAt(number: number): string {
  return new Date(FIRST + number * 1000).toISOString();
}

/** Fills the table of items, whose migrations have run, and leaves it as autovacuum leaves a table in time. */
export async function load(client: Client): Promise<void> {
  await insertItems(client, 'items');
  await client.query('VACUUM ANALYZE items');
  // So that the measurements do not share the disk with what was written here.
  await client.query('CHECKPOINT');
}

/** Fills a table with all items. */
export async function insertItems(client: Client, table: string): Promise<void> {
  await inParts(`rows of ${table}`, ITEMS, PART, async (first, last) => {
    await client.query(`INSERT INTO ${table} (id, name, description) ${itemsSql(first, last)}`);
  });
}

/**
 * A statement that makes items by their numbers. Their names share few words and differ in a number; `retired` is in the
 * oldest 2 %, `ancient` in the 20 oldest alone: many and few matches that a walk from the newest row finds last.
 */
export function itemsSql(first: number, last: number): string {
  const descriptionWords = Array.from({ length: 11 }, (_, i) => `words[1 + get_byte(hash, ${i}) % 64]`).join(', ');
  return `
    SELECT (lpad(to_hex(${FIRST} + n::bigint * 1000), 12, '0') || '7' || left(md5(n::text), 3) || to_hex(8 + n % 4)
             || right(md5(n::text), 15))::uuid AS id,
           concat_ws(' ', colours[1 + n % 10], nouns[1 + n / 10 % 10], n,
             CASE WHEN n <= 20000 THEN 'retired' END, CASE WHEN n <= 20 THEN 'ancient' END) AS name,
           CASE WHEN n % 3 > 0 THEN concat_ws(' ', ${descriptionWords}) END AS description
    FROM (SELECT n, decode(md5(n::text), 'hex') AS hash FROM generate_series(${first}, ${last}) n) numbers,
         (SELECT string_to_array('${COLOURS}', ' ') AS colours, string_to_array('${NOUNS}', ' ') AS nouns,
                 string_to_array('${WORDS}', ' ') AS words) texts`;
}

/** The key of the last row before a page that begins after so many rows. */
export async function keyAtDepth(client: Client, depth: number): Promise<string> {
  const { rows } = await client.query<{ id: string }>('SELECT id FROM items ORDER BY id DESC OFFSET $1 LIMIT 1', [depth - 1]);
  const [row] = rows;
  if (!row) {
    throw new Error(`There are no ${depth} items.`);
  }
  return row.id;
}
