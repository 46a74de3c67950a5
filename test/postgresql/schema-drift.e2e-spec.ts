import { Column, DataSource, Entity, PrimaryColumn } from 'typeorm';
import { findDrift } from '../../src/platform/database/schema-drift.js';
import { doctor } from '../support/doctor.js';
import { runCli, runServiceToEnd, ServiceProcess } from '../support/process.js';
import { query } from '../support/query.js';
import { createTestDatabase, databaseUrlOf } from '../support/test-database.js';

/** A database with all migrations. */
async function migrated(): Promise<string> {
  const url = databaseUrlOf(await createTestDatabase());
  expect(await runCli(['migrate'], { DATABASE_URL: url })).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/applied: \d+\.\n$/),
  });
  return url;
}

/** Of an administrator, and not of a migration. */
const CHANGE = `ALTER TABLE items DROP COLUMN description, ADD COLUMN owner text NOT NULL, ALTER COLUMN name DROP NOT NULL;
  ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_pkey`;

const FAULTS = [
  '- Item: the column "description" of "items" does not exist. Add a migration with ALTER TABLE "items" ADD "description" text;',
  '- StoredResponse: the unique index ("token_id", "key") of "idempotency_keys" does not exist. Add a migration with ALTER TABLE "idempotency_keys" ADD PRIMARY KEY ("token_id", "key");',
  '- Item: the column "owner" of "items" is not in the entity, and may not be null: every insert fails. Add it to the entity, or a migration with ALTER TABLE "items" ALTER COLUMN "owner" DROP NOT NULL;',
];

it('says the same at the start, after migrate and in doctor, and commands of tokens work meanwhile [drift-stops-start] [drift-everywhere]', async () => {
  const DATABASE_URL = await migrated();
  await query(DATABASE_URL, CHANGE);
  const started = await runServiceToEnd({ DATABASE_URL });
  const migration = await runCli(['migrate'], { DATABASE_URL });
  expect([started.code, migration.code, migration.stdout]).toEqual([1, 1, '']);
  for (const fault of FAULTS)
    expect([started.stderr, migration.stderr]).toEqual(Array(2).fill(expect.stringContaining(fault)));
  const warning = 'Item: the column "name" of "items" may be null, unlike in the entity';
  expect([started.stdout, migration.stderr]).toEqual(
    Array(2).fill(expect.stringContaining(JSON.stringify(warning).slice(1, -1))),
  );
  expect(migration.stderr).toMatch(/^No pending migrations: nothing to apply\.\n/);
  const { found, faults } = await doctor({ DATABASE_URL });
  expect(found['database.schema']?.split('\n').toSorted()).toEqual(FAULTS.map((fault) => fault.slice(2)).toSorted());
  expect(found['database.drift']).toContain(warning);
  expect(faults).toMatch(/^fail database\.schema: [^]*\nwarn database\.drift: /m);
  expect((await runCli(['token', 'issue', '--name', 'x'], { DATABASE_URL })).code).toBe(0);

  const statements = FAULTS.flatMap((fault) => fault.match(/ALTER [^;]+;/) ?? []);
  await query(DATABASE_URL, statements.join(' '));
  const service = await ServiceProcess.startReady({ DATABASE_URL });
  expect(await service.end('SIGTERM')).toBe(0);
  expect((await runCli(['migrate'], { DATABASE_URL })).code).toBe(0);
});

it('finds tables as statements do, by the search_path', async () => {
  const DATABASE_URL = await migrated();
  const { pathname } = new URL(DATABASE_URL);
  await query(DATABASE_URL, `CREATE SCHEMA shop; ALTER TABLE items SET SCHEMA shop`);
  expect((await runServiceToEnd({ DATABASE_URL })).stderr).toMatch(
    /^- Item: the table "items" does not exist\. .*CREATE TABLE "items"/m,
  );
  await query(DATABASE_URL, `ALTER DATABASE ${pathname.slice(1)} SET search_path = public, shop`);
  const service = await ServiceProcess.startReady({ DATABASE_URL });
  expect(service.log.filter(({ level, context }) => level === 'warn' && context === 'Database')).toEqual([]);
  expect(await service.end('SIGTERM')).toBe(0);
});

@Entity('labels')
class Label {
  @PrimaryColumn('integer') declare id: number;
  @Column('varchar', { length: 20 }) declare name: string;
  @Column('numeric', { precision: 8, scale: 2 }) declare price: string;
}

it.each(['on', 'off'])(
  'finds no difference in types with a length, standard_conforming_strings being %s [drift-no-false-alarm]',
  async (value) => {
    const url = await migrated();
    await query(
      url,
      'CREATE TABLE labels (id integer PRIMARY KEY, name varchar(20) NOT NULL, price numeric(8, 2) NOT NULL)',
    );
    const extra = { options: `-c standard_conforming_strings=${value}` };
    const dataSource = await new DataSource({ type: 'postgres', url, entities: [Label], extra }).initialize();
    expect(await findDrift(dataSource)).toEqual([]);
    await dataSource.destroy();
  },
);

it('names SQL that rebuilds the indexes of a partitioned table, also from those of its partitions', async () => {
  const DATABASE_URL = await migrated();
  const run = (statement: string) => query(DATABASE_URL, statement);
  await run(`ALTER TABLE items RENAME TO old; ALTER INDEX items_name_id_idx RENAME TO old_idx;
    CREATE TABLE items (LIKE old, PRIMARY KEY (id)) PARTITION BY RANGE (id);
    CREATE TABLE items_default PARTITION OF items DEFAULT`);
  // Left invalid, until all partitions have one.
  await run('CREATE INDEX items_name_id_idx ON ONLY "items" (name COLLATE "C", id)');
  const { found } = await doctor({ DATABASE_URL });
  const texts = found['database.indexes']?.split('\n') ?? [];
  expect(texts).toEqual([
    expect.stringMatching(/^Item\.name: .*; Before the last one, .* run CREATE INDEX CONCURRENTLY for each partition, /),
    expect.stringContaining('CREATE EXTENSION'),
  ]);
  await run('DROP INDEX items_name_trigrams_idx');
  await run('CREATE INDEX CONCURRENTLY own ON items_default (name COLLATE "C", id)');
  for (const text of texts) for (const statement of text.match(/(?:CREATE|DROP) [^;]+(?=;)/g) ?? []) await run(statement);
  expect(await run(`SELECT inhparent::regclass::text FROM pg_inherits WHERE inhrelid = 'own'::regclass`)).toEqual([
    { inhparent: 'items_name_id_idx' },
  ]);
  expect((await doctor({ DATABASE_URL })).found['database.indexes']).toBe('as the entities need it');
});
