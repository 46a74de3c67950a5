import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { IndexItemNameTrigrams1767225600003 } from '../../src/items/migrations/1767225600003-index-item-name-trigrams.js';
import { runCli, ServiceProcess } from '../support/process.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';

const INDEXES = ['items_name_id_idx', 'items_name_trigrams_idx'];

let database: TestDatabase;
let client: Client;

beforeEach(async () => {
  database = await createTestDatabase();
  client = new Client(databaseUrlOf(database));
  await client.connect();
});

afterEach(async () => {
  await client.end();
  await database.drop();
});

const migrate = () => runCli(['migrate'], database.environment);

/** The indexes that can be used. */
async function validIndexes(): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT indexrelid::regclass::text AS name FROM pg_index
     WHERE indrelid = 'items'::regclass AND indisvalid AND NOT indisprimary ORDER BY name`,
  );
  return rows.map(({ name }) => name);
}

/** As it was before the indexes came. */
async function withoutIndexes(): Promise<void> {
  await migrate();
  await client.query(`DROP INDEX ${INDEXES.join(', ')}`);
  await client.query(`DELETE FROM migrations WHERE name LIKE 'IndexItem%'`);
}

it('build the indexes while others write', async () => {
  await withoutIndexes();
  const earlier = new Client(databaseUrlOf(database));
  await earlier.connect();
  await earlier.query('BEGIN');
  await earlier.query(`INSERT INTO items VALUES (gen_random_uuid(), 'not yet committed', null)`);
  let building = true;
  const build = migrate().finally(() => (building = false));
  // The build has to wait for the transaction that began before it; nobody has to wait for the build.
  let written = 0;
  const until = Date.now() + 1500;
  while (Date.now() < until) {
    await client.query(`INSERT INTO items VALUES (gen_random_uuid(), 'meanwhile', null)`);
    written += 1;
    await delay(5);
  }
  expect(building).toBe(true);
  expect(written).toBeGreaterThan(20);
  expect(await validIndexes()).not.toEqual(INDEXES);
  await earlier.query('COMMIT');
  expect((await build).code).toBe(0);
  expect(await validIndexes()).toEqual(INDEXES);
  await earlier.end();
});

it('leave the settings of the session as they were', async () => {
  await client.query('CREATE SCHEMA extensions; CREATE EXTENSION pg_trgm SCHEMA extensions');
  await migrate();
  await client.query(`DROP INDEX ${INDEXES.join(', ')}`);
  const dataSource = await new DataSource({ type: 'postgres', url: databaseUrlOf(database), poolSize: 1 }).initialize();
  const settings = `SELECT current_setting('lock_timeout') AS lock, current_setting('search_path') AS path`;
  await dataSource.query(`SET lock_timeout = '9s'; SET search_path = public`);
  const runner = dataSource.createQueryRunner();
  await new IndexItemNameTrigrams1767225600003().up(runner);
  expect(await runner.query(settings)).toEqual([{ lock: '9s', path: 'public' }]);
  await client.query('ALTER TABLE items RENAME COLUMN name TO title');
  await client.query('DROP INDEX items_name_trigrams_idx');
  await expect(new IndexItemNameTrigrams1767225600003().up(runner)).rejects.toThrow('name');
  expect(await runner.query(settings)).toEqual([{ lock: '9s', path: 'public' }]);
  await runner.release();
  await dataSource.destroy();
});

it('build an index anew that was left unfinished', async () => {
  await withoutIndexes();
  await client.query('CREATE INDEX items_name_id_idx ON items (name COLLATE "C", id)');
  await client.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'items_name_id_idx'::regclass`);
  expect((await migrate()).code).toBe(0);
  expect(await validIndexes()).toEqual(INDEXES);
});

it('find pg_trgm in a schema of its own', async () => {
  await client.query('CREATE SCHEMA extensions; CREATE EXTENSION pg_trgm SCHEMA extensions');
  expect((await migrate()).code).toBe(0);
  expect(await validIndexes()).toEqual(INDEXES);
});

it.each([
  ['may not be created', ''],
  ['is in a schema that may not be used', 'CREATE SCHEMA extensions; CREATE EXTENSION pg_trgm SCHEMA extensions'],
])('go on without pg_trgm where it %s, and say so', async (_case, preparation) => {
  const role = `items_test_${process.pid}_${Date.now()}`;
  await client.query(`CREATE ROLE ${role} LOGIN; GRANT ALL ON SCHEMA public TO ${role}; ${preparation}`);
  const url = new URL(databaseUrlOf(database));
  url.username = role;
  const service = await ServiceProcess.startReady({ DATABASE_URL: url.href });
  const left = service.log.filter(({ msg }) => msg === 'index left out');
  expect(left).toEqual([expect.objectContaining({ level: 'warn', index: 'items_name_trigrams_idx', extension: 'pg_trgm' })]);
  expect(await validIndexes()).toEqual(['items_name_id_idx']);
  expect(await service.end('SIGTERM')).toBe(0);
  await client.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
});
