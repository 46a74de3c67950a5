import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { jest } from '@jest/globals';
import type { ProblemBody } from '../support/api.js';
import { connectTo } from '../support/connect.js';
import { postgresError } from '../support/refusing-servers.js';
import { eventually, startService } from '../support/service.js';
import { StatementProxy } from '../support/statement-proxy.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';
import { useService } from '../support/use-service.js';

const STATEMENT_TIMEOUT = 1;

let database: TestDatabase;
let proxy: TcpProxy;

const service = useService(async () => {
  database = await createTestDatabase();
  proxy = await TcpProxy.start(databaseUrlOf(database));
  const timeouts = { DATABASE_CONNECTION_TIMEOUT: '1', DATABASE_STATEMENT_TIMEOUT: String(STATEMENT_TIMEOUT) };
  return startService({ DATABASE_URL: proxy.url, DATABASE_POOL_SIZE: '5', ...timeouts }, database);
});

/** Every route that needs the database responds 503 with Retry-After; the process survives and recovers. */
async function expectUnavailable(): Promise<void> {
  const started = performance.now();
  const filtered = Array.from({ length: 6 }, () => service.api.list<ProblemBody>({ filter: 'name == "x"' }));
  const answers = await Promise.all([
    service.api.list<ProblemBody>(),
    service.api.create<ProblemBody>({ name: 'x' }),
    service.api.post('{"name":"x"}', { 'Idempotency-Key': 'x' }),
    ...filtered,
  ]);
  // A running statement ends at the latest one second after the server should have cancelled it.
  expect(performance.now() - started).toBeLessThan((STATEMENT_TIMEOUT + 1) * 1000 + 1000);
  for (const { status, headers, body } of answers) {
    expect([status, body.type]).toEqual([503, '/docs/problems#service-unavailable']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(JSON.stringify(body)).not.toMatch(/ECONN|postgres|127\.0\.0\.1|timeout/);
  }
  expect((await service.api.send('GET', '/readyz')).status).toBe(503);
  expect((await service.api.send('GET', '/livez')).status).toBe(200);
}

async function expectRecovery(): Promise<void> {
  proxy.restore();
  await eventually(async () => (await service.api.send('GET', '/readyz')).status === 200);
  const { status, body } = await service.api.create({ name: 'after' });
  expect(status).toBe(201);
  expect((await service.api.list({ limit: '1' })).body.items).toEqual([body]);
}

it('responds 503 while connections are reset, and recovers', async () => {
  expect((await service.api.list()).status).toBe(200);
  proxy.cut();
  await expectUnavailable();
  await expectRecovery();
});

it('responds 503 while the database does not respond, without hanging, and recovers', async () => {
  proxy.swallow();
  await expectUnavailable();
  await expectRecovery();
});

it.each([
  ['right after they were made', '', {}],
  ['after their settings were made', 'SET ', { filter: 'name == "x"' }],
])('responds 503 while the server ends connections %s, and recovers', async (_case, text, parameters) => {
  proxy.terminateAfter = text;
  for (let round = 0; round < 5; round += 1) {
    const answers = await Promise.all(Array.from({ length: 8 }, () => service.api.list<ProblemBody>(parameters)));
    // Some had their response before the connection ended.
    expect(
      answers.map(({ status }) => status).filter((status) => status !== 503 && (status !== 200 || text !== '')),
    ).toEqual([]);
  }
  proxy.restore();
  await eventually(async () => (await service.api.list(parameters)).status === 200);
});

it('responds 503 to statements that wait for a lock, with and without a filter, without opening more connections', async () => {
  const blocker = await connectTo(databaseUrlOf(database));
  await blocker.query('BEGIN; LOCK TABLE items IN ACCESS EXCLUSIVE MODE');
  const queries = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? {} : { filter: 'name == "x"' }));
  const answers = await Promise.all(queries.map((query) => service.api.list(query)));
  for (const { status, headers } of answers) expect([status, headers.get('retry-after')]).toEqual([503, '5']);
  const { rows } = await blocker.query<{ count: string }>(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'items'",
  );
  expect(Number(rows[0]?.count)).toBeLessThanOrEqual(5);
  await blocker.query('ROLLBACK');
  expect((await service.api.list()).status).toBe(200);
});

it('stays ready while creates wait for a lock on every connection that they may use [ready-behind-lock]', async () => {
  const blocker = await connectTo(databaseUrlOf(database));
  await blocker.query('BEGIN; LOCK TABLE items IN SHARE MODE');
  const statuses: number[] = [];
  let isLocked = true;
  const creators = Array.from({ length: 20 }, async () => {
    while (isLocked) statuses.push((await service.api.create({ name: 'x' })).status);
  });
  await eventually(() => statuses.length > 20);
  for (let check = 0; check < 5; check += 1) {
    expect((await service.api.send('GET', '/readyz')).status).toBe(200);
  }
  expect(new Set(statuses)).toEqual(new Set([503]));
  isLocked = false;
  await blocker.query('ROLLBACK');
  await Promise.all(creators);
});

it('responds 503 when pgpool-II, which ends connections with a code of its own, has lost its server', async () => {
  const pgpool = await StatementProxy.start(databaseUrlOf(database));
  const other = await startService({ DATABASE_URL: pgpool.to(databaseUrlOf(database)) }, database);
  const error = postgresError('XX000', 'unable to read data from DB node 0');
  pgpool.reset = { at: /FROM|INSERT/, stage: 'before', error };
  const answers = [
    await other.api.list(),
    await other.api.list({ filter: 'name == "x"' }),
    await other.api.create({ name: 'x' }),
    await other.api.post('{"name":"x"}', { 'Idempotency-Key': 'pgpool' }),
  ];
  expect(answers.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual(answers.map(() => [503, '5']));
  pgpool.reset = undefined;
  expect((await other.api.post('{"name":"x"}', { 'Idempotency-Key': 'pgpool' })).status).toBe(201);
  await other.stop();
});

it('responds 503 to creates that were carried out before the operating system failed to read from the connection', async () => {
  const hop = await StatementProxy.start(databaseUrlOf(database));
  const other = await startService({ DATABASE_URL: hop.to(databaseUrlOf(database)) }, database);
  const destroy = jest.spyOn(Socket.prototype, 'destroy');
  // The connections break as by a reset, for another reason.
  destroy.mockImplementation(function fail(this: Socket, error?: Error & { syscall?: string }) {
    const isRead = error?.syscall === 'read';
    const failure = isRead ? Object.assign(error, { code: 'ENOMEM', message: 'read ENOMEM' }) : error;
    return Duplex.prototype.destroy.call(this, failure) as Socket;
  });
  hop.reset = { at: /INSERT INTO "items"/, stage: 'after' };
  const answers = [
    await other.api.create({ name: 'unknown' }),
    ...(await Promise.all(['unknown', 'unknown', 'unknown'].map((name) => other.api.create({ name })))),
    await other.api.post('{"name":"unknown"}', { 'Idempotency-Key': 'unknown' }),
  ];
  expect(answers.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual(answers.map(() => [503, '5']));
  hop.reset = undefined;
  destroy.mockRestore();
  expect((await other.api.post('{"name":"unknown"}', { 'Idempotency-Key': 'unknown' })).status).toBe(201);
  const { body } = await other.api.list({ filter: 'name == "unknown"' });
  expect(body.items).toHaveLength(answers.length);
  await other.stop();
});

it('responds 503 while the disk of the server fails, and recovers', async () => {
  const owner = await connectTo(databaseUrlOf(database));
  await owner.query(`
    CREATE FUNCTION fail_as_a_disk() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION USING ERRCODE = 'io_error', MESSAGE = 'could not read block 0: Input/output error'; END $$;
    CREATE TRIGGER disk BEFORE INSERT ON items EXECUTE FUNCTION fail_as_a_disk()`);
  const create = () => service.api.post('{"name":"x"}', { 'Idempotency-Key': 'disk' });
  const answers = [await service.api.create({ name: 'x' }), await create()];
  expect(answers.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual(answers.map(() => [503, '5']));
  await owner.query('DROP FUNCTION fail_as_a_disk CASCADE');
  expect((await create()).status).toBe(201);
});
