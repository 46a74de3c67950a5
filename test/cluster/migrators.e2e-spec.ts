import { execFileSync } from 'node:child_process';
import { createContext } from '../../src/app.js';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { Database } from '../../src/platform/database/database.js';
import { runCli, spawnCli } from '../support/process.js';
import { PostgresServer } from '../support/postgres-server.js';
import { query } from '../support/query.js';
import { eventually } from '../support/service.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { createTestDatabase, databaseUrlOf } from '../support/test-database.js';

interface Result {
  migrations: string[];
  schema: string;
}

/** Statements that change the database, or end a transaction that did, behind the bytes that wrap them. */
const CHANGE = /(?:CREATE|ALTER|DROP|INSERT INTO|COMMIT)\b/;

async function resultIn(url: string): Promise<Result> {
  const rows = await query<{ name: string }>(url, 'SELECT name FROM migrations ORDER BY id');
  const dump = execFileSync('pg_dump', ['--schema-only', '--no-owner', url], { encoding: 'utf8' });
  // Commands of psql, whose key differs each time, and comments with version numbers.
  const schema = dump.replaceAll(/^(?:\\|--).*$/gm, '');
  return { migrations: rows.map(({ name }) => name), schema };
}

/** As the command does, in this process: starts of processes would take nine tenths of the time. */
async function migrate(url: string): Promise<void> {
  const app = await createContext(readConfiguration({ DATABASE_URL: url, MIGRATE_ON_START: 'false', LOG_LEVEL: 'silent' }));
  try {
    const database = app.get(Database);
    await database.migrate();
    await database.checkSchema();
  } finally {
    await app.close();
  }
}

/** How `migrate` is run: to its end, or until it is stopped. */
interface Command {
  run: (url: string) => Promise<unknown>;
  /** `isComplete` is whether it came to its end, which must be good, before it was stopped. */
  start: (gate: TcpProxy) => { stop: () => void; isComplete: Promise<boolean> };
}

/** To the server, a connection that breaks is all that a kill is. */
const here: Command = {
  run: migrate,
  start(gate) {
    let isStopped = false;
    const stop = () => {
      isStopped = true;
      gate.cut();
    };
    const ended = migrate(gate.url).then(() => true);
    return { stop, isComplete: ended.catch((error: unknown) => (isStopped ? false : Promise.reject(error as Error))) };
  },
};

const asProcess: Command = {
  run: async (url) => expect((await runCli(['migrate'], { DATABASE_URL: url })).code).toBe(0),
  start(gate) {
    const { child, ended } = spawnCli(['migrate'], { DATABASE_URL: gate.url });
    const isComplete = ended.then(({ code }) => {
      expect([null, 0]).toContain(code);
      return code === 0;
    });
    return { stop: () => child.kill('SIGKILL'), isComplete };
  },
};

/** Stops a migrator after some changes, and runs another one. */
async function migrateTwice(changes: number, command = here): Promise<{ isComplete: boolean; result: Result }> {
  const database = await createTestDatabase();
  const url = databaseUrlOf(database);
  const gate = await TcpProxy.start(url);
  let seen = 0;
  const isLast = (statement: string) => CHANGE.test(statement) && (seen += 1) === changes;
  const first = command.start(gate);
  gate.trap = { isHere: isLast, stage: 'after', action: first.stop };
  const isComplete = await first.isComplete;
  await command.run(url);
  const result = await resultIn(url);
  await database.drop();
  return { isComplete, result };
}

it('leave the same database wherever the previous one was stopped [migrations-atomic]', async () => {
  const { result: reference } = await migrateTwice(Infinity);
  let changes = 0;
  for (let isComplete = false; !isComplete;) {
    changes += 1;
    const next = await migrateTwice(changes);
    isComplete = next.isComplete;
    expect([changes, next.result]).toEqual([changes, reference]);
  }
  expect(changes).toBeGreaterThan(reference.migrations.length * 2);
  // Processes that are killed early, in the middle, and late.
  for (const killedAfter of [2, Math.ceil(changes / 2), changes - 1]) {
    const killed = await migrateTwice(killedAfter, asProcess);
    expect([killedAfter, killed]).toEqual([killedAfter, { isComplete: false, result: reference }]);
  }
}, 600_000);

it('get the lock of a table that an autovacuum has, for minutes, also as a role that sees little of it', async () => {
  const server = await PostgresServer.start({ autovacuum_naptime: '1s' });
  await server.query('CREATE ROLE owner LOGIN');
  await server.query('GRANT CREATE ON SCHEMA public TO owner');
  const environment = { DATABASE_URL: server.url.replace('postgres@', 'owner@') };
  expect((await runCli(['migrate'], environment)).code).toBe(0);
  await server.query(`DELETE FROM migrations WHERE name LIKE 'AddTokenR%'`);
  await server.query('ALTER TABLE access_tokens DROP COLUMN last_four, DROP COLUMN family_id, DROP COLUMN replaced_by');
  // Before the rows: with them, a vacuum of usual speed could be over, and the slow work would be the ANALYZE behind it.
  await server.query('ALTER TABLE access_tokens SET (autovacuum_vacuum_cost_limit = 1, autovacuum_vacuum_cost_delay = 100)');
  await server.query(`INSERT INTO access_tokens (id, name, digest, created_at)
    SELECT gen_random_uuid(), repeat('long', 50), sha256(n::text::bytea), now() FROM generate_series(1, 50000) AS n`);
  const vacuums = `SELECT pid FROM pg_stat_progress_vacuum WHERE relid = 'access_tokens'::regclass`;
  await eventually(async () => (await server.query(vacuums)).length > 0);
  const [vacuum] = await server.query<{ pid: number }>(vacuums);
  const { code, stderr } = await runCli(['migrate'], environment);
  expect(stderr).toContain(`"reason":"canceling statement due to lock timeout","blockedBy":[${vacuum?.pid}]`);
  expect(code).toBe(0);
});
