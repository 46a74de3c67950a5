import { once } from 'node:events';
import { Logger, Module } from '@nestjs/common';
import type { Client } from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { AppModule } from '../../src/app.module.js';
import { MigrationsModule, SqlMigration } from '../../src/platform/index.js';
import { connectTo } from '../support/connect.js';
import { preload } from '../support/doctor.js';
import { runCli, ServiceProcess, spawnCli } from '../support/process.js';
import { eventually, startService } from '../support/service.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';
import { issueTokens } from '../support/tokens.js';

// Migrations that need the lock of a table that another session keeps.

const WAITING = 'migration waiting for a lock';

let database: TestDatabase;
/** Keeps its transaction open. */
let reader: Client;
let readerId: number;

beforeEach(async () => {
  database = await createTestDatabase();
  reader = await connectTo(databaseUrlOf(database));
  const { rows } = await reader.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  readerId = rows[0]?.pid ?? 0;
  await runCli(['migrate'], database.environment);
});

/** Makes the database one of an older version, with a table that is locked. */
async function lackMigration(): Promise<void> {
  await reader.query(`DELETE FROM migrations WHERE name LIKE 'AddTokenR%'`);
  await reader.query('ALTER TABLE access_tokens DROP COLUMN last_four, DROP COLUMN family_id, DROP COLUMN replaced_by');
  await reader.query('BEGIN; LOCK TABLE access_tokens IN ACCESS SHARE MODE');
}

class CreateExtras1795219200001 extends SqlMigration {
  readonly statements = ['CREATE TABLE extras (id integer, old text)'];
}

/** A rollback leaves the table as it was, unlike what TypeORM knows of it. */
class MoveNotes1795219200002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.dropColumn('extras', 'old');
    await runner.query('ALTER TABLE items ADD COLUMN note text');
  }

  down = () => Promise.resolve();
}

@Module({ imports: [AppModule, MigrationsModule.forFeature([CreateExtras1795219200001, MoveNotes1795219200002])] })
class NextVersion {}

it('leave the table to requests most of the time, and long enough for each [migrations-lock-limit]', async () => {
  const service = await ServiceProcess.startReady(database.environment);
  const [token = ''] = await issueTokens(databaseUrlOf(database), 1);
  const api = service.client(token);
  await reader.query('BEGIN; LOCK TABLE items IN ACCESS SHARE MODE');
  const warn = jest.spyOn(Logger.prototype, 'warn');
  const attempts = () => warn.mock.calls.map(([line]) => line as { msg: string }).filter(({ msg }) => msg === WAITING);
  const started = startService({}, database, NextVersion);
  started.catch(() => undefined);
  const statuses = new Set<number>();
  await eventually(async () => {
    const responses = await Promise.all([api.list(), api.list(), api.create({ name: 'meanwhile' })]);
    responses.forEach(({ status }) => statuses.add(status));
    return attempts().length >= 3 || statuses.size > 2;
  });
  expect([...statuses].toSorted()).toEqual([200, 201]);
  const { rows } = await reader.query(`SELECT name FROM migrations WHERE name IN ('${CreateExtras1795219200001.name}',
    '${MoveNotes1795219200002.name}')`);
  expect(rows).toEqual([{ name: CreateExtras1795219200001.name }]);
  await reader.query('COMMIT');
  const next = await started;
  expect((await reader.query('SELECT note FROM items WHERE note IS NOT NULL')).rows).toEqual([]);
  expect((await reader.query('SELECT * FROM extras')).fields.map(({ name }) => name)).toEqual(['id']);
  await next.stop();
  expect(await service.end('SIGTERM')).toBe(0);
});

describe('when a minute is over, which passes in seconds here', () => {
  const quickly = preload('const now = performance.now.bind(performance); performance.now = () => now() * 20;');

  it('fail as a command with the reason, and can be run again [migrations-lock-time]', async () => {
    await lackMigration();
    const { code, stdout, stderr } = await runCli(['migrate'], { ...database.environment, ...quickly });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr.split(`"msg":"${WAITING}"`).length).toBeGreaterThan(2);
    expect(stderr).toMatch(
      /\nThe migration AddTokenRotation\d+ failed: canceling statement due to lock timeout\. Fix the cause/,
    );
    await reader.query('COMMIT');
    expect((await runCli(['migrate'], database.environment)).code).toBe(0);
  });

  it('are repeated by the start, without shorter pauses, until the lock is free', async () => {
    await lackMigration();
    const service = await ServiceProcess.start({ ...database.environment, ...quickly });
    await service.becomes(() => service.has('database not ready') && service.linesOf(WAITING).length >= 4);
    const reason = 'canceling statement due to lock timeout';
    const failure = expect.stringMatching(RegExp(String.raw`^The migration AddTokenRotation\d+ failed: ${reason}\. `));
    expect(service.linesOf('database not ready')[0]).toMatchObject({ reason: failure });
    const lines = service.linesOf(WAITING);
    expect(lines[0]).toMatchObject({ level: 'warn', migration: expect.stringMatching(/^AddTokenRotation/), reason });
    // Of a single wait, a busy machine can miss it.
    expect(lines.map(({ blockedBy }) => blockedBy)).toContainEqual([readerId]);
    const times = lines.map(({ time }) => Date.parse(time as string));
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(Math.min(...pauses)).toBeGreaterThan(1900);
    await reader.query('COMMIT');
    await service.becomesReady();
    expect(await service.end('SIGTERM')).toBe(0);
  });
});

it.each([
  ['the service', (environment: NodeJS.ProcessEnv) => ServiceProcess.spawn(environment), 0],
  ['migrate', (environment: NodeJS.ProcessEnv) => spawnCli(['migrate'], environment), 143],
])('end on SIGTERM between two attempts of %s, with nothing changed', async (_what, start, code) => {
  await lackMigration();
  const process = start(database.environment);
  const attempts = () => (process.output.stdout + process.output.stderr).split(WAITING).length - 1;
  await process.becomes(() => attempts() > 0);
  process.child.kill('SIGTERM');
  expect(await once(process.child, 'close')).toEqual([code, null]);
  expect(attempts()).toBeLessThan(4);
  await reader.query('COMMIT');
  expect((await reader.query(`SELECT FROM migrations WHERE name LIKE 'AddTokenR%'`)).rows).toEqual([]);
});
