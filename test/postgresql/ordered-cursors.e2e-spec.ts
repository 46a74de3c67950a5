import { Module, type Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Column, DataSource, Entity, PrimaryColumn } from 'typeorm';
import { defineOrder, Lists, MigrationsModule, PageOf, type PageQuery, SqlMigration } from '../../src/platform/index.js';
import { decodeCursor } from '../../src/platform/lists/cursor.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { query } from '../support/query.js';
import { type Service, startService } from '../support/service.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';

// Cursors contain sort values as text, which PostgreSQL writes and reads as the settings of the role say.

const TYPES = {
  real: 'real',
  exact: 'double precision',
  day: 'date',
  local: 'timestamp',
  instant: 'timestamptz',
  amount: 'numeric(30, 10)',
  label: 'text',
};
type Name = keyof typeof TYPES;

@Entity('samples')
class Sample {
  @PrimaryColumn('uuid') declare id: string;
  @Column('real') declare real: number;
  @Column('double precision') declare exact: number;
  @Column('date') declare day: string;
  @Column('timestamp') declare local: Date;
  @Column('timestamptz') declare instant: Date;
  @Column('numeric', { precision: 30, scale: 10 }) declare amount: string;
  @Column('text') declare label: string;
}

class SampleDto {
  @ApiProperty() declare real: number;
  @ApiProperty() declare exact: number;
  @ApiProperty() declare day: string;
  @ApiProperty() declare local: Date;
  @ApiProperty() declare instant: Date;
  @ApiProperty() declare amount: string;
  @ApiProperty() declare label: string;
}

const names = Object.keys(TYPES) as Name[];
const orders = new Map(names.map((name) => [name, defineOrder(Sample, name)]));
for (const order of orders.values()) PageOf(SampleDto, order);

class CreateSamples1795219200005 extends SqlMigration {
  readonly statements = [
    `CREATE TABLE samples (id uuid PRIMARY KEY, ${names.map((name) => `"${name}" ${TYPES[name]} NOT NULL`).join(', ')})`,
    ...names.map((name) => `CREATE INDEX ON samples ("${name}" ${name === 'label' ? 'COLLATE "C"' : ''}, id)`),
  ];
}

@Module({
  imports: [PlatformModule, TypeOrmModule.forFeature([Sample]), MigrationsModule.forFeature([CreateSamples1795219200005])],
})
class SamplesModule {}

/** Values that differ in the last digit or microsecond only, and all that a text can mistake. */
const ROWS = `INSERT INTO samples SELECT gen_random_uuid(), n / 3e7, (n + 1) / 3e15, date '2026-01-09' + n, timestamp '2026-02-03' + n * interval '1 us',
  timestamptz '2026-10-25 00:30:00.000001+00' + n * interval '1 us', n / 1e10::numeric, n::text FROM generate_series(1, 9) n
  UNION ALL SELECT gen_random_uuid(), 'NaN', 'NaN', 'infinity', '-infinity', 'infinity', 0, ''
  UNION ALL SELECT gen_random_uuid(), '-1e-40', '-5e-324', '0044-03-15 BC', '12026-01-02', '0044-03-15 BC', -1, 'x y'
  UNION ALL SELECT gen_random_uuid(), '-Infinity', '1e308', '5000-01-01', '0044-03-15 BC', '12026-01-02', 9, 'é'`;

const SETTINGS = {
  datestyle: 'SQL, DMY',
  timezone: 'Asia/Kathmandu',
  extra_float_digits: '-15',
  intervalstyle: 'sql_standard',
  bytea_output: 'escape',
};

const role = `odd_${process.pid}_${Date.now()}`;
let database: TestDatabase;
let services: Service[];

beforeAll(async () => {
  database = await createTestDatabase();
  const url = databaseUrlOf(database);
  await query(url, `CREATE ROLE ${role} SUPERUSER LOGIN PASSWORD '${role}'`);
  for (const [name, value] of Object.entries(SETTINGS)) await query(url, `ALTER ROLE ${role} SET ${name} = '${value}'`);
  const odd = Object.assign(new URL(url), { username: role, password: role }).href;
  const start = (environment: NodeJS.ProcessEnv) => startService(environment, database, SamplesModule as Type);
  services = [await start({}), await start({ DATABASE_URL: odd })];
  await query(url, ROWS);
});

afterAll(async () => {
  for (const service of services) await service.stop();
  await database.drop();
  await query(process.env['TEST_DATABASE_URL'] ?? '', `DROP ROLE ${role}`);
});

const cursorOf = ({ app }: Service, name: Name, cursor?: string) => {
  const samples = app.get(DataSource).getRepository(Sample);
  const position = cursor === undefined ? undefined : decodeCursor(cursor, '');
  const order = orders.get(name);
  const page = { limit: 1, ...(position && { cursor: position }) } as PageQuery<Sample>;
  return app.get(Lists).findPage(samples, page, order && { order });
};

it.each(names)('cursors of an order by %s mean the same for every role', async (name) => {
  const expected = await query<{ id: string }>(
    databaseUrlOf(database),
    `SELECT id FROM samples ORDER BY "${name}" ${name === 'label' ? 'COLLATE "C"' : ''}, id`,
  );
  const found: string[] = [];
  // Those of the service that read the page before.
  let cursors: (string | undefined)[] = [undefined];
  do {
    const pages = [];
    for (const service of services) for (const cursor of cursors) pages.push(await cursorOf(service, name, cursor));
    expect(new Set(pages.map(({ items }) => items[0]?.id)).size).toBe(1);
    expect(new Set(pages.map(({ nextCursor }) => nextCursor === undefined)).size).toBe(1);
    found.push(...(pages[0]?.items ?? []).map(({ id }) => id));
    cursors = [...new Set(pages.map(({ nextCursor }) => nextCursor))];
  } while (cursors[0] !== undefined);
  expect(found).toEqual(expected.map(({ id }) => id));
});
