import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { v7 } from 'uuid';
import { tokenDigest, generateToken } from '#service/platform/auth/token-format';
import { query } from '../test/support/query.ts';
import { showProgress } from './report.ts';

const { BENCH_DATABASE_URL: SERVER_URL = 'postgres://postgres@127.0.0.1:5432/postgres' } = process.env;
const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url));

/** Rows that are inserted at once. */
const PART = 20_000;

/** The newest item that can be `reserved`. */
const LAST_RESERVED = 970_000;

/** Milliseconds since 1970 at which item 0 would have been created. */
const FIRST = Date.UTC(2026, 0, 1);

const COLORS = 'red blue green black white yellow purple orange silver brown';
const NOUNS = 'bicycle lamp kettle table ladder guitar camera blanket hammer mirror';
/** 64, so that descriptions differ in their words and trigrams as much as real ones. */
const WORDS =
  'brass pedal found behind wooden garden shed after long winter handle slightly bent seller offers rubber tyre with leather ' +
  'saddle original paint small scratch near front wheel works fine needs cleaning bought from family market street number ' +
  'heavy glass cover missing screw spare battery included year warranty expired collect only evening weekend morning cash ' +
  'price fixed never used still boxed manual lost quick sale moving abroad';

/** The moment at which an item was created, by its number: 1 is the oldest, and one was created each second. */
export function createdAt(number: number): string {
  return new Date(FIRST + number * 1000).toISOString();
}

/** A database of this run, with the tables of the service. */
export class Database {
  readonly url: string;
  readonly client: Client;
  private readonly name: string;
  private size = 0;

  private constructor(url: string, name: string) {
    this.url = url;
    this.client = new Client(url);
    this.name = name;
  }

  static async create(): Promise<Database> {
    const name = `items_bench_${process.pid}`;
    const url = new URL(SERVER_URL);
    url.pathname = name;
    await query(SERVER_URL, `CREATE DATABASE ${name}`);
    const database = new Database(url.href, name);
    try {
      const { PATH } = process.env;
      // From another directory, so that a developer's .env has no effect.
      const options = { cwd: tmpdir(), env: { PATH, DATABASE_URL: url.href, LOG_LEVEL: 'error' } };
      await promisify(execFile)(process.execPath, [CLI, 'migrate'], options);
      await database.client.connect();
      return database;
    } catch (error) {
      await database.drop();
      throw error;
    }
  }

  async drop(): Promise<void> {
    await this.client.end();
    await query(SERVER_URL, `DROP DATABASE IF EXISTS ${this.name} WITH (FORCE)`);
  }

  /** Adds items until there are so many. All indexes but the primary key are built afterwards, which takes far less time. */
  async fillTo(size: number): Promise<void> {
    await this.client.query(`SET synchronous_commit = off; SET maintenance_work_mem = '1GB'`);
    const { rows: indexes } = await this.client.query<{ indexname: string; indexdef: string }>(
      `SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'items' AND indexname <> 'items_pkey'`,
    );
    for (const { indexname } of indexes) await this.client.query(`DROP INDEX ${indexname}`);
    while (this.size < size) {
      const last = Math.min(this.size + PART, size);
      await this.client.query(`INSERT INTO items (id, name, description) ${itemsSql(this.size + 1, last)}`);
      this.size = last;
      showProgress('items', last, size);
    }
    for (const { indexdef } of indexes) await this.client.query(indexdef);
    await this.client.query('VACUUM ANALYZE items');
    // So that the measurements do not share the disk with what was written here.
    await this.client.query('CHECKPOINT');
  }

  async issueTokens(count: number): Promise<string[]> {
    const tokens = Array.from({ length: count }, generateToken);
    await this.client.query(
      `INSERT INTO access_tokens (id, name, digest, last_four, created_at)
       SELECT id, 'bench', decode(digest, 'hex'), last_four, now() FROM unnest($1::uuid[], $2::text[], $3::text[]) AS new (id, digest, last_four)`,
      [tokens.map(() => v7()), tokens.map(tokenDigest), tokens.map((token) => token.slice(-4))],
    );
    return tokens;
  }

  /** The key of the last row before a page that begins after so many rows. */
  async keyAtDepth(depth: number): Promise<string> {
    const { rows } = await this.client.query<{ id: string }>('SELECT id FROM items ORDER BY id DESC OFFSET $1 LIMIT 1', [
      depth - 1,
    ]);
    const [row] = rows;
    if (!row) {
      throw new Error(`There are no ${depth} items.`);
    }
    return row.id;
  }
}

/**
 * A statement that makes items by their numbers. Their names share few words and differ in a number; `retired` is in the
 * oldest 20,000, `ancient` in the oldest 20: many and few matches that a walk from the newest row finds last. `reserved` is in 10 % of all
 * but the newest rows.
 */
function itemsSql(first: number, last: number): string {
  const descriptionWords = Array.from({ length: 11 }, (_, i) => `words[1 + get_byte(hash, ${i}) % 64]`).join(', ');
  return `
    SELECT (lpad(to_hex(${FIRST} + n::bigint * 1000), 12, '0') || '7' || left(md5(n::text), 3) || to_hex(8 + n % 4)
             || right(md5(n::text), 15))::uuid AS id,
           concat_ws(' ', colors[1 + n % 10], nouns[1 + n / 10 % 10], n,
             CASE WHEN n <= 20000 THEN 'retired' END, CASE WHEN n <= 20 THEN 'ancient' END,
             CASE WHEN n % 10 = 3 AND n <= ${LAST_RESERVED} THEN 'reserved' END) AS name,
           CASE WHEN n % 3 > 0 THEN concat_ws(' ', ${descriptionWords}) END AS description
    FROM (SELECT n, decode(md5(n::text), 'hex') AS hash FROM generate_series(${first}, ${last}) n) numbers,
         (SELECT string_to_array('${COLORS}', ' ') AS colors, string_to_array('${NOUNS}', ' ') AS nouns,
                 string_to_array('${WORDS}', ' ') AS words) texts`;
}
