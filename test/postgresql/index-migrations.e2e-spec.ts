import type { Client } from 'pg';
import { DataSource } from 'typeorm';
import { IndexItemNameTrigrams1767225600003 } from '../../src/items/migrations/1767225600003-index-item-name-trigrams.js';
import { runCli, ServiceProcess, spawnCli } from '../support/process.js';
import { connectTo } from '../support/connect.js';
import { eventually } from '../support/service.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';

/** See migrations.ts. */
const MIGRATION_LOCK = '7235915402217';

const INDEXES = ['items_name_id_idx', 'items_name_trigrams_idx'];

let database: TestDatabase;
let client: Client;

beforeEach(async () => {
  database = await createTestDatabase();
  client = await connectTo(databaseUrlOf(database));
});

const migrate = () => runCli(['migrate'], database.environment);

async function validIndexes(): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT indexrelid::regclass::text AS name FROM pg_index
     WHERE indrelid = 'items'::regclass AND indisvalid AND NOT indisprimary ORDER BY name`,
  );
  return rows.map(({ name }) => name);
}

it('log waits and applied migrations, and build the indexes during writes', async () => {
  await migrate();
  await client.query(`DELETE FROM migrations WHERE name LIKE 'IndexItem%'; DROP INDEX ${INDEXES.join()}`);
  const earlier = await connectTo(databaseUrlOf(database));
  await earlier.query(`SELECT pg_advisory_lock(${MIGRATION_LOCK})`);
  const { child, ended } = spawnCli(['migrate'], { ...database.environment, LOG_LEVEL: 'debug' });
  let log = '';
  child.stderr?.on('data', (text: Buffer) => (log += text.toString()));
  await eventually(() => log.includes('waiting for another migrator'));

  // The build has to wait for the end of this transaction; no other has to wait for the build.
  await earlier.query(`BEGIN; INSERT INTO items VALUES (gen_random_uuid(), 'not yet committed', null)`);
  await earlier.query(`SELECT pg_advisory_unlock(${MIGRATION_LOCK})`);
  await eventually(async () => {
    await client.query(`INSERT INTO items VALUES (gen_random_uuid(), 'meanwhile', null)`);
    const { rows } = await client.query('SELECT FROM pg_stat_progress_create_index WHERE relid = to_regclass($1)', ['items']);
    return rows.length > 0;
  });
  expect(await validIndexes()).not.toEqual(INDEXES);
  await earlier.query('COMMIT');
  expect(await ended).toMatchObject({ code: 0, stdout: '', stderr: expect.stringMatching(/\nMigrations applied: 2\.\n$/) });
  expect(await validIndexes()).toEqual(INDEXES);
  const lines = log.split('\n').filter((line) => line.includes('"msg":"migration applied"'));
  const applied = lines.map((line) => (JSON.parse(line) as { migration: string }).migration.slice(0, -13));
  expect(applied).toEqual(['IndexItemNames', 'IndexItemNameTrigrams']);
});

it('rebuild an index that was left unfinished', async () => {
  await migrate();
  await client.query(`DELETE FROM migrations WHERE name LIKE 'IndexItem%'`);
  await client.query(`DROP INDEX items_name_trigrams_idx`);
  await client.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'items_name_id_idx'::regclass`);
  expect((await migrate()).code).toBe(0);
  expect(await validIndexes()).toEqual(INDEXES);
});

it('leave the settings of the session as they were, also if they fail', async () => {
  await migrate();
  await client.query(`DROP INDEX ${INDEXES.join()}`);
  const dataSource = await new DataSource({ type: 'postgres', url: databaseUrlOf(database), poolSize: 1 }).initialize();
  const settings = `SELECT current_setting('lock_timeout') AS lock, current_setting('search_path') AS path`;
  const runner = dataSource.createQueryRunner();
  const before: unknown = await runner.query(settings);
  await new IndexItemNameTrigrams1767225600003().up(runner);
  expect(await runner.query(settings)).toEqual(before);
  await client.query('ALTER TABLE items RENAME COLUMN name TO title; DROP INDEX items_name_trigrams_idx');
  await expect(new IndexItemNameTrigrams1767225600003().up(runner)).rejects.toThrow('name');
  expect(await runner.query(settings)).toEqual(before);
  await runner.release();
  await dataSource.destroy();
});

it('skip an index whose extension is in a schema that is not on the search path', async () => {
  await client.query('CREATE SCHEMA extensions; CREATE EXTENSION pg_trgm SCHEMA extensions');
  expect(await migrate()).toMatchObject({ code: 0, stderr: expect.stringContaining('index skipped') });
  expect(await validIndexes()).toEqual(['items_name_id_idx']);
});

it('say what their role may not do, and continue without pg_trgm where it may not be created, with a warning', async () => {
  const role = `items_test_${process.pid}_${Date.now()}`;
  await client.query(`CREATE ROLE ${role} LOGIN`);
  const url = Object.assign(new URL(databaseUrlOf(database)), { username: role });
  const { code, stderr } = await runCli(['migrate'], { DATABASE_URL: url.href });
  expect([code, stderr]).toEqual([1, expect.stringMatching(/ failed: permission denied for schema public\. Fix the cause/)]);
  await client.query(`GRANT ALL ON SCHEMA public TO ${role}`);
  const service = await ServiceProcess.startReady({ DATABASE_URL: url.href });
  const left = service.linesOf('index skipped: its extension is not available');
  expect(left).toEqual([expect.objectContaining({ level: 'warn', index: 'items_name_trigrams_idx', extension: 'pg_trgm' })]);
  expect(await validIndexes()).toEqual(['items_name_id_idx']);
  expect(await service.end('SIGTERM')).toBe(0);
  await client.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
});
