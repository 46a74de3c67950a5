import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { HttpClient } from '../support/http-client.js';
import { Load } from '../support/load.js';
import { runCli, ServiceProcess } from '../support/process.js';
import { query } from '../support/query.js';
import { eventually } from '../support/service.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase, testDirectory } from '../support/test-database.js';
import { issueToken, issueTokens } from '../support/tokens.js';

// Follows docs/operations.md with its commands.

let database: TestDatabase;
let url: string;
let restoredUrl: string;
/** The original database and the restored one. */
let service: ServiceProcess;
let restored: ServiceProcess;
let token: string;
let revoked: string;
let doctor: string;
/** Where the dump is written. */
let directory: string;

const nameOf = (databaseUrl: string) => new URL(databaseUrl).pathname.slice(1);

/** Requests before and after the dump. */
const before = { name: 'before', key: randomUUID(), body: '' };
const after = { name: 'after', key: randomUUID(), body: '' };
/** Names of items whose creation was acknowledged before the dump began, or was asked for when it had ended. */
const acknowledged: string[] = [];
const late: string[] = [];

/** Runs the shell blocks of a section of the handbook until one fails. @returns the output of each */
async function follow(section: string): Promise<string[]> {
  const handbook = await readFile('docs/operations.md', 'utf8');
  const [text = ''] = (handbook.split(`\n### ${section}\n`)[1] ?? '').split(/\n##/);
  const PATH = `${resolve('node_modules/.bin')}:${process.env['PATH']}`;
  const env = { PATH, DATABASE_URL: url, RESTORED_URL: restoredUrl, PORT: '0', METRICS_PORT: '0' };
  const printed: string[] = [];
  for (const [, block = ''] of text.matchAll(/^```sh\n(.*?)^```$/gms)) {
    const script = block.replaceAll('dist/cli.js', resolve('dist/cli.js')).replaceAll('items_restored', nameOf(restoredUrl));
    printed.push((await promisify(execFile)('sh', ['-euc', script], { cwd: directory, env })).stdout);
  }
  return printed;
}

async function create(on: ServiceProcess, { name, key }: { name: string; key: string }) {
  const reply = await new HttpClient(on.origin, token, false).create(name, { 'Idempotency-Key': key });
  return { status: reply.status, body: reply.body, isReplay: reply.headers['idempotent-replayed'] === 'true' };
}

beforeAll(async () => {
  database = await createTestDatabase();
  url = databaseUrlOf(database);
  restoredUrl = `${url}_restored`;
  directory = await mkdtemp(join(testDirectory(), 'backup-'));
  token = await issueToken(database.environment);
  [revoked = ''] = await issueTokens(url, 1);
  service = await ServiceProcess.startReady(database.environment);
  before.body = (await create(service, before)).body;

  let count = 0;
  const clients = Array.from({ length: 4 }, () => new HttpClient(service.origin, token, true));
  const write = (client: HttpClient) => client.create(`during ${(count += 1)}`, { 'Idempotency-Key': randomUUID() });
  const load = new Load(clients, write, 1);
  await eventually(() => load.calls.length > 100);
  const begun = performance.now();
  expect(await follow('Dump')).toHaveLength(1);
  const ended = performance.now();
  const sofar = load.calls.length;
  await eventually(() => load.calls.length > sofar + 100);
  for (const { status, sent, received, result } of await load.stop()) {
    expect(status).toBe(201);
    const { name } = JSON.parse('body' in result ? result.body : '') as { name: string };
    if (received < begun) acknowledged.push(name);
    if (sent > ended) late.push(name);
  }

  after.body = (await create(service, after)).body;
  expect((await runCli(['token', 'revoke', revoked], database.environment)).code).toBe(0);
  const printed = await follow('Restore');
  expect(printed).toHaveLength(2);
  doctor = printed[1] ?? '';
  // It is ready only if nothing is left to migrate.
  restored = await ServiceProcess.startReady({ DATABASE_URL: restoredUrl, MIGRATE_ON_START: 'false' });
});

afterAll(async () => {
  await query(url, `DROP DATABASE IF EXISTS ${nameOf(restoredUrl)} WITH (FORCE)`);
  await database.drop();
});

describe('a restored dump of a database under load', () => {
  it('passes the checks of doctor, with all migrations and indexes', async () => {
    expect(doctor).toMatch(/\nok {4}database\.migrations +nothing to apply\n/);
    expect(doctor).not.toMatch(/^fail/m);
    const indexes = 'SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1';
    const there = await query<{ indexname: string }>(restoredUrl, indexes);
    expect(there).toEqual(await query(url, indexes));
    expect(there.map(({ indexname }) => indexname)).toContain('items_name_trigrams_idx');
  });

  it('contains everything acknowledged before the dump, nothing later, and each item with its key', async () => {
    const rows = await query<{ name: string }>(restoredUrl, 'SELECT name FROM items');
    const names = new Set(rows.map(({ name }) => name));
    expect([acknowledged.length, late.length].every((length) => length > 50)).toBe(true);
    expect(acknowledged.filter((name) => !names.has(name))).toEqual([]);
    expect([...late, after.name].filter((name) => names.has(name))).toEqual([]);
    const apart = await query<{ keys: number; items: number }>(
      restoredUrl,
      `SELECT count(*) FILTER (WHERE items.id IS NULL)::int AS keys,
              count(*) FILTER (WHERE key IS NULL AND name LIKE 'during %')::int AS items
       FROM items FULL JOIN idempotency_keys ON (body::json ->> 'id')::uuid = id`,
    );
    expect(apart).toEqual([{ keys: 0, items: 0 }]);
  });

  it('accepts its tokens, also those that were revoked later', async () => {
    const calls = [service, restored].flatMap((on) => [token, revoked].map((each) => on.client(each).list()));
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 401, 200, 200]);
  });

  it('repeats stored responses, and runs later requests again', async () => {
    expect(await create(restored, before)).toEqual({ status: 201, body: before.body, isReplay: true });
    const again = await create(restored, after);
    expect(again).toMatchObject({ status: 201, isReplay: false });
    expect(again.body).not.toBe(after.body);
    expect(await Promise.all([service, restored].map((each) => each.end('SIGTERM')))).toEqual([0, 0]);
  });
});
