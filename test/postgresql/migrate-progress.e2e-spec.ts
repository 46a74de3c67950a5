import { Client } from 'pg';
import { runCli } from '../support/process.js';
import { eventually } from '../support/service.js';
import { TerminalSession } from '../support/terminal.js';
import {
  createEmbedded,
  createTestDatabase,
  databaseUrlOf,
  onServerDatabase,
  type TestDatabase,
} from '../support/test-database.js';

/** See migrate.ts. */
const MIGRATION_LOCK = '7235915402217';

/** Sessions of the database of the test. */
const HERE = 'datname = current_database()';

/** May not create extensions, and sees its own sessions alone. */
const role = `items_progress_${process.pid}`;

let database: TestDatabase;
let environment: NodeJS.ProcessEnv;
let other: Client;

beforeEach(async () => {
  database = await createTestDatabase();
  const url = new URL(databaseUrlOf(database));
  await onServerDatabase(url.href, `CREATE ROLE ${role} LOGIN; GRANT ALL ON SCHEMA public TO ${role}`);
  url.username = role;
  environment = { DATABASE_URL: url.href };
  other = new Client({ connectionString: url.href, application_name: 'somebody else' });
  await other.connect();
});

afterEach(async () => {
  await other.end();
  await onServerDatabase(databaseUrlOf(database), `DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await database.drop();
});

/** Whether the terminal showed, at some time, a text like this. */
const hasShown = (session: TerminalSession, pattern: RegExp) => session.shown.some((text) => pattern.test(text));

it('shows on a terminal whom it waits for, what it does and how far that is, and leaves the log alone', async () => {
  await other.query('CREATE TABLE items (id uuid PRIMARY KEY, name text NOT NULL, description text)');
  await other.query(`INSERT INTO items SELECT gen_random_uuid(), 'item' FROM generate_series(1, 1000)`);
  await other.query('CREATE TABLE migrations (id serial PRIMARY KEY, timestamp bigint NOT NULL, name varchar NOT NULL)');
  await other.query(`INSERT INTO migrations (timestamp, name) VALUES (1767225600001, 'CreateItems1767225600001')`);
  await other.query(`SELECT pg_advisory_lock(${MIGRATION_LOCK})`);
  const { rows } = await other.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const pid = rows[0]?.pid;

  const session = TerminalSession.run(['migrate'], environment);
  const waiting = new RegExp(
    `^waiting for another migrator, pid ${pid} \\(connected for \\d+:\\d\\d, somebody else\\) \\d+:\\d\\d$`,
  );
  await eventually(() => hasShown(session, waiting));

  // A transaction that writes: whoever builds an index concurrently waits for its end.
  await other.query(`BEGIN; INSERT INTO items VALUES (gen_random_uuid(), 'not yet committed', null)`);
  await other.query(`SELECT pg_advisory_unlock(${MIGRATION_LOCK})`);
  const building =
    `^2 of 6 IndexItemNames \\d+:\\d\\d \\| waiting for writers before build, 1 left: ` +
    `pid ${pid} \\(idle in transaction for \\d+:\\d\\d, somebody else\\)$`;
  await eventually(() => hasShown(session, new RegExp(building)));
  await other.query('COMMIT');

  expect(await session.ended).toBe(0);
  const [last, ...lines] = session.screen.toReversed();
  expect(last).toBe('');
  const applied = (name: string): unknown =>
    expect.stringMatching(new RegExp(`^\\[[0-9:.]+\\] INFO: Database: migration applied \\{"migration":"${name}\\d+"\\}$`));
  const names = ['CreateAccessTokens', 'IndexItemNames', 'IndexItemNameTrigrams', 'CreateIdempotencyKeys', 'AddTokenScopes'];
  // The stack of an error has lines of its own.
  expect(lines.toReversed().filter((line) => !line.startsWith('    '))).toEqual([
    // Said while the last line was there.
    expect.stringMatching(/^\[[0-9:.]+\] WARN: Migrations: index left out \{"index":"items_name_trigrams_idx",.*\}$/),
    ...[...names, 'AddTokenRotation'].map(applied),
  ]);
});

it.each<[string, (session: TerminalSession) => unknown, number, unknown[]]>([
  [
    'when it fails',
    () => other.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'items' AND ${HERE}`),
    1,
    [expect.stringMatching(/^The database cannot be used: /), ''],
  ],
  // By Ctrl+C, which the terminal shows.
  ['when it is interrupted', (session) => session.type('\u{3}'), 130, ['']],
])('takes its line away %s', async (_case, end, code, screen) => {
  await other.query(`SELECT pg_advisory_lock(${MIGRATION_LOCK})`);
  const session = TerminalSession.run(['migrate'], environment);
  await eventually(() => hasShown(session, /^waiting for another migrator/));
  await end(session);
  expect(await session.ended).toBe(code);
  expect(session.screen).toEqual(screen);
});

it('says nothing more in a pipe than the lines of its log, whoever it waits for', async () => {
  await other.query(`SELECT pg_advisory_lock(${MIGRATION_LOCK})`);
  const piped = runCli(['migrate'], database.environment);
  await eventually(async () => {
    const { rows } = await other.query(`SELECT FROM pg_stat_activity WHERE application_name = 'items' AND ${HERE}`);
    return rows.length > 0;
  });
  await other.query(`SELECT pg_advisory_unlock(${MIGRATION_LOCK})`);
  const { code, stdout, stderr } = await piped;
  expect([code, stdout]).toEqual([0, '']);
  const lines = stderr
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines).toHaveLength(7);
  for (const { time, migration, ...line } of lines) {
    expect(line).toEqual({ level: 'info', service: 'items', context: 'Database', msg: 'migration applied' });
    expect([typeof time, typeof migration]).toEqual(['string', 'string']);
  }
});

it('shows the time of the embedded database, which has no connection to look over', async () => {
  const session = TerminalSession.run(['migrate'], (await createEmbedded()).environment);
  expect(await session.ended).toBe(0);
  expect(session.screen.filter((line) => line.includes('migration applied'))).toHaveLength(7);
  expect(session.screen.at(-1)).toBe('');
});
