import { execFile } from 'node:child_process';
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

let database: TestDatabase;
let superuserUrl: string;
/** Role that owns the database. */
let owner: string;
let url: string;
let environment: NodeJS.ProcessEnv;
let restoredUrl: string;
/** Where the dump is written. */
let directory: string;
let token: string;

beforeAll(async () => {
  database = await createTestDatabase();
  superuserUrl = databaseUrlOf(database);
  owner = `owner_${process.pid}`;
  await query(superuserUrl, `CREATE ROLE ${owner} LOGIN`);
  await query(superuserUrl, `ALTER DATABASE ${nameOf(superuserUrl)} OWNER TO ${owner}`);
  url = databaseUrlOf(database, owner);
  restoredUrl = `${url}_restored`;
  environment = { ...database.environment, DATABASE_URL: url };
  directory = await mkdtemp(join(testDirectory(), 'backup-'));
  token = await issueToken(environment);
});

afterAll(async () => {
  await query(superuserUrl, `DROP DATABASE IF EXISTS ${nameOf(restoredUrl)} WITH (FORCE)`);
  for (const statement of [`REASSIGN OWNED BY ${owner} TO postgres`, `DROP OWNED BY ${owner}`, `DROP ROLE ${owner}`]) {
    await query(superuserUrl, statement);
  }
});

const nameOf = (databaseUrl: string) => new URL(databaseUrl).pathname.slice(1);

/** Runs the shell blocks of a section of docs/operations.md until one fails. @returns the output of all */
async function follow(section: string): Promise<string> {
  const handbook = await readFile('docs/operations.md', 'utf8');
  const [text = ''] = (handbook.split(`\n### ${section}\n`)[1] ?? '').split(/\n##/);
  const script = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block).join('');
  const here = script
    .replaceAll('dist/cli.js', resolve('dist/cli.js'))
    .replaceAll('items_restored', nameOf(restoredUrl))
    .replaceAll('items_owner', owner);
  const PATH = `${resolve('node_modules/.bin')}:${process.env['PATH']}`;
  const urls = { OWNER_URL: url, SUPERUSER_URL: superuserUrl, RESTORED_URL: restoredUrl };
  const env = { PATH, ...urls, PORT: '0', METRICS_PORT: '0' };
  return (await promisify(execFile)('sh', ['-euc', here], { cwd: directory, env })).stdout;
}

/** Creates an item of a name with the name as its key. */
const create = (client: HttpClient, name: string) => client.create(name, { 'Idempotency-Key': name });

it('a restored dump of a database under load has all that was there before, each item with its key, and nothing later [dump-consistent] [restore-keeps-keys]', async () => {
  const service = await ServiceProcess.startReady(environment);
  const client = new HttpClient(service.origin, token, true);
  const [revoked = ''] = await issueTokens(url, 1);
  const before = await create(client, 'before');
  for (let number = 0; number < 30; number += 1) await create(client, `old-${number}`);
  const { nextCursor = '' } = (await service.client(token).list({ limit: '10' })).body;
  let count = 0;
  const load = new Load([client, client, client, client], (each) => create(each, `during-${(count += 1)}`), 1);
  await eventually(() => load.calls.length > 100);
  await follow('Dump');
  expect(new Set((await load.stop()).map(({ status }) => status))).toEqual(new Set([201]));
  const after = await create(client, 'after');
  expect((await runCli(['token', 'revoke', revoked], environment)).code).toBe(0);

  const doctor = await follow('Restore');
  expect(doctor).toMatch(/\nok {4}database\.migrations +nothing to apply\n/);
  expect(doctor).not.toMatch(/^fail/m);
  const indexes = 'SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1';
  expect(await query(restoredUrl, indexes)).toEqual(await query(url, indexes));
  const rows = await query<{ name: string; key: string }>(
    restoredUrl,
    `SELECT name, key FROM items FULL JOIN idempotency_keys ON (body::json ->> 'id')::uuid = id`,
  );
  expect(rows.filter(({ name, key }) => name !== key)).toEqual([]);
  const names = new Set(rows.map(({ name }) => name));
  expect(['before', 'during-50', 'after'].map((name) => names.has(name))).toEqual([true, true, false]);

  const restored = await ServiceProcess.startReady({ DATABASE_URL: restoredUrl, MIGRATE_ON_START: 'false' });
  // Tokens that were revoked later are valid again.
  const calls = [service, restored].flatMap((on) => [token, revoked].map((each) => on.client(each).list()));
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 401, 200, 200]);
  // Cursors from before the dump continue.
  const pages = await Promise.all(
    [service, restored].map((on) => on.client(token).list({ limit: '100', cursor: nextCursor })),
  );
  expect(pages[1]?.body.items).toEqual(pages[0]?.body.items);
  expect(pages.map(({ status, body }) => [status, body.items.length])).toEqual([
    [200, 21],
    [200, 21],
  ]);
  const late = new HttpClient(restored.origin, token, false);
  const replies = [await create(late, 'before'), await create(late, 'after')];
  expect(replies.map(({ headers }) => headers['idempotent-replayed'])).toEqual(['true', undefined]);
  expect([replies[0]?.body, replies[1]?.status]).toEqual([before.body, 201]);
  expect(replies[1]?.body).not.toBe(after.body);
  expect(await Promise.all([service, restored].map((each) => each.end('SIGTERM')))).toEqual([0, 0]);
});
