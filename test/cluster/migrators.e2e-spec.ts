import { execFileSync } from 'node:child_process';
import { runCli, spawnCli } from '../support/process.js';
import { query } from '../support/query.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';

interface Result {
  migrations: string[];
  schema: string;
}

/** Statements that change the database, or end a transaction that did, behind the bytes that wrap them. */
const CHANGE = /(?:CREATE|ALTER|DROP|INSERT INTO|COMMIT)\b/;

let reference: Result;
/** How many statements of a migrator are changes. */
let changes = 0;

beforeAll(async () => {
  const database = await createTestDatabase();
  const gate = await TcpProxy.start(databaseUrlOf(database));
  const count = (statement: string) => {
    changes += CHANGE.test(statement) ? 1 : 0;
    return false;
  };
  gate.stopAt(count, 'after', () => undefined);
  expect((await runCli(['migrate'], { DATABASE_URL: gate.url })).code).toBe(0);
  reference = await resultIn(database);
  await gate.stop();
  await database.drop();
});

async function resultIn(database: TestDatabase): Promise<Result> {
  const url = databaseUrlOf(database);
  const rows = await query<{ name: string }>(url, 'SELECT name FROM migrations ORDER BY id');
  const dump = execFileSync('pg_dump', ['--schema-only', '--no-owner', url], { encoding: 'utf8' });
  // Commands of psql, whose key differs each time, and comments with version numbers.
  const schema = dump.replaceAll(/^(?:\\|--).*$/gm, '');
  return { migrations: rows.map(({ name }) => name), schema };
}

/** Kills a migrator after a change, not counting from 0, and lets another one follow. */
async function killAfter(change: number): Promise<void> {
  const database = await createTestDatabase();
  const gate = await TcpProxy.start(databaseUrlOf(database));
  const { child, ended } = spawnCli(['migrate'], { DATABASE_URL: gate.url });
  let seen = 0;
  const isLast = (statement: string) => {
    seen += CHANGE.test(statement) ? 1 : 0;
    return seen === change;
  };
  gate.stopAt(isLast, 'after', () => child.kill('SIGKILL'));
  expect([change, (await ended).code]).toEqual([change, null]);
  const { code } = await runCli(['migrate'], database.environment);
  expect([change, code, await resultIn(database)]).toEqual([change, 0, reference]);
  await gate.stop();
  await database.drop();
}

it('bring a database to the same end wherever the one before was killed', async () => {
  expect(changes).toBeGreaterThan(reference.migrations.length * 2);
  for (let change = 1; change <= changes; change += 2) {
    await Promise.all([change, change + 1].filter((place) => place <= changes).map(killAfter));
  }
}, 600_000);
