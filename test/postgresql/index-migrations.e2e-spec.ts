import type { Client } from 'pg';
import { DataSource } from 'typeorm';
import { IndexItemNameTrigrams1767225600003 } from '../../src/items/migrations/1767225600003-index-item-name-trigrams.js';
import { IndexMigration } from '../../src/platform/index.js';
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

it('log waits, their progress and applied migrations, and build the indexes during writes [migration-progress]', async () => {
  await migrate();
  await client.query(`DELETE FROM migrations WHERE name LIKE 'IndexItem%'; DROP INDEX ${INDEXES.join()}`);
  const earlier = await connectTo(databaseUrlOf(database));
  await earlier.query(`SELECT pg_advisory_lock(${MIGRATION_LOCK})`);
  const { child, ended } = spawnCli(['migrate'], { ...database.environment, LOG_LEVEL: 'debug' });
  let log = '';
  child.stderr?.on('data', (text: Buffer) => (log += text.toString()));
  const { rows: holders } = await earlier.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const holder = holders[0]?.pid;
  await eventually(() => log.includes(`"msg":"waiting for another migrator","pid":${holder}`));

  // The build has to wait for the end of this transaction; no other has to wait for the build.
  await earlier.query(`BEGIN; INSERT INTO items VALUES (gen_random_uuid(), 'not yet committed', null)`);
  await earlier.query(`SELECT pg_advisory_unlock(${MIGRATION_LOCK})`);
  await eventually(async () => {
    await client.query(`INSERT INTO items VALUES (gen_random_uuid(), 'meanwhile', null)`);
    const { rows } = await client.query('SELECT FROM pg_stat_progress_create_index WHERE relid = to_regclass($1)', [
      'items',
    ]);
    return rows.length > 0;
  });
  expect(await validIndexes()).not.toEqual(INDEXES);
  // Half of the wait is over if a row of the loop was not committed either when the build began.
  const waiting = String.raw`"migration":"IndexItemNames\d+","phase":"waiting for writers before build","percent":(?:0|50),"blockedBy":\[${holder}\]`;
  await eventually(() => new RegExp(`"msg":"migration in progress",${waiting}`).test(log));
  await earlier.query('COMMIT');
  expect(await ended).toMatchObject({ code: 0, stdout: '', stderr: expect.stringMatching(/\nMigrations applied: 2\.\n$/) });
  expect(await validIndexes()).toEqual(INDEXES);
  const lines = log.split('\n').filter((line) => line.includes('"msg":"migration applied"'));
  const applied = lines.map((line) => (JSON.parse(line) as { migration: string }).migration.slice(0, -13));
  expect(applied).toEqual(['IndexItemNames', 'IndexItemNameTrigrams']);
});

it('rebuild an index that was left unfinished [index-rebuilt]', async () => {
  await migrate();
  await client.query(`DELETE FROM migrations WHERE name LIKE 'IndexItem%'`);
  await client.query(`DROP INDEX items_name_trigrams_idx`);
  await client.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'items_name_id_idx'::regclass`);
  expect((await migrate()).code).toBe(0);
  expect(await validIndexes()).toEqual(INDEXES);
});

it('rebuild an index that was left unfinished in a schema that is not on the search path [index-rebuilt]', async () => {
  class IndexParts1795219200001 extends IndexMigration {
    readonly index = 'parts_name_idx';
    readonly definition = 'ON stock.parts (name)';
  }
  await client.query('CREATE SCHEMA stock; CREATE TABLE stock.parts (name text)');
  const dataSource = await new DataSource({ type: 'postgres', url: databaseUrlOf(database), poolSize: 1 }).initialize();
  const runner = dataSource.createQueryRunner();
  await new IndexParts1795219200001().up(runner);
  const index = `pg_index WHERE indexrelid = 'stock.parts_name_idx'::regclass AND indisvalid`;
  await client.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'stock.parts_name_idx'::regclass`);
  expect((await client.query(`SELECT FROM ${index}`)).rowCount).toBe(0);
  await new IndexParts1795219200001().up(runner);
  expect((await client.query(`SELECT FROM ${index}`)).rowCount).toBe(1);
  await runner.release();
  await dataSource.destroy();
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

describe('of a role with a time limit for statements', () => {
  let role: string;
  let url: string;
  let writer: Client;

  beforeEach(async () => {
    role = `items_test_${process.pid}_${Date.now()}`;
    await client.query(`CREATE ROLE ${role} LOGIN SUPERUSER; ALTER ROLE ${role} SET statement_timeout = '1s'`);
    url = databaseUrlOf(database, role);
    await migrate();
    await client.query(`DELETE FROM migrations WHERE name LIKE 'IndexItem%'; DROP INDEX ${INDEXES.join()}`);
    writer = await connectTo(databaseUrlOf(database));
    await writer.query(`BEGIN; INSERT INTO items VALUES (gen_random_uuid(), 'not yet committed', null)`);
  });

  afterEach(() => client.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`));

  const build = `FROM pg_stat_activity WHERE usename = $1 AND query LIKE 'CREATE INDEX%' AND state = 'active'`;
  /** Waits until the build waits for the writer, for longer than the limit if there is one. */
  const takesLong = async () => {
    const { rows } = await client.query(`SELECT ${build} AND now() - query_start > interval '2 s'`, [role]);
    return rows.length > 0;
  };

  it('may last longer [migrations-no-timeout]', async () => {
    const migrator = spawnCli(['migrate'], { DATABASE_URL: url });
    await migrator.becomes(takesLong);
    await writer.query('COMMIT');
    expect((await migrator.ended).code).toBe(0);
    expect(await validIndexes()).toEqual(INDEXES);
  });

  it('stop a start when they are canceled, with a message, and the next one rebuilds the index', async () => {
    const service = ServiceProcess.spawn({ DATABASE_URL: url });
    await service.becomes(takesLong);
    await client.query(`SELECT pg_cancel_backend(pid) ${build}`, [role]);
    const { code, stderr } = await service.ended;
    const message = /^The migration IndexItemNames\d+ was canceled: canceling statement due to user request\. Fix the cause/;
    expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
    expect(service.has('database not ready')).toBe(false);
    await writer.query('COMMIT');
    const next = await ServiceProcess.startReady({ DATABASE_URL: url });
    expect(await validIndexes()).toEqual(INDEXES);
    expect(await next.end('SIGTERM')).toBe(0);
  });
});

it('say what their role may not do, and continue without pg_trgm where it may not be created, with a warning [trigrams-optional]', async () => {
  const role = `items_test_${process.pid}_${Date.now()}`;
  await client.query(`CREATE ROLE ${role} LOGIN`);
  const url = databaseUrlOf(database, role);
  const { code, stdout, stderr } = await runCli(['migrate'], { DATABASE_URL: url });
  const fault = expect.stringMatching(/ failed: permission denied for schema public\. Fix the cause/);
  expect([code, stdout, stderr]).toEqual([1, '', fault]);
  await client.query(`GRANT ALL ON SCHEMA public TO ${role}`);
  const service = await ServiceProcess.startReady({ DATABASE_URL: url });
  const left = service.linesOf('index skipped: its extension is not available');
  expect(left).toEqual([expect.objectContaining({ level: 'warn', index: 'items_name_trigrams_idx', extension: 'pg_trgm' })]);
  expect(await validIndexes()).toEqual(['items_name_id_idx']);
  expect(await service.end('SIGTERM')).toBe(0);
  // At each start, until it is there.
  const next = await ServiceProcess.startReady({ DATABASE_URL: url });
  const warnings = next.log.filter(({ level, msg }) => level === 'warn' && msg.startsWith('Item.name: filters do without '));
  expect(warnings).toEqual([
    { ...warnings[0], msg: expect.stringContaining('run one by one: CREATE EXTENSION IF NOT EXISTS "pg_trgm"; ') },
  ]);
  expect(await next.end('SIGTERM')).toBe(0);
  await client.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
});
