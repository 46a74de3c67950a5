import { Client } from 'pg';
import { spawnCli } from '../support/process.js';
import { eventually } from '../support/service.js';
import { createTestDatabase, databaseUrlOf } from '../support/test-database.js';

/** See migrate.ts. */
const MIGRATION_LOCK = '7235915402217';

it('logs what it waits for, what takes long and what it applies, in this order', async () => {
  const database = await createTestDatabase();
  const other = new Client({ connectionString: databaseUrlOf(database), application_name: 'somebody else' });
  await other.connect();
  await other.query('CREATE TABLE items (id uuid PRIMARY KEY, name text NOT NULL, description text)');
  await other.query('CREATE TABLE migrations (id serial PRIMARY KEY, timestamp bigint NOT NULL, name varchar NOT NULL)');
  await other.query(`INSERT INTO migrations (timestamp, name) VALUES (1767225600001, 'CreateItems1767225600001')`);
  await other.query(`SELECT pg_advisory_lock(${MIGRATION_LOCK})`);

  const { child, ended } = spawnCli(['migrate'], database.environment);
  let log = '';
  child.stderr?.on('data', (text: Buffer) => {
    log += text.toString();
  });
  await eventually(() => log.includes('waiting for another migrator'));
  // Building an index concurrently waits for the end of this transaction.
  await other.query(`BEGIN; INSERT INTO items VALUES (gen_random_uuid(), 'not yet committed', null)`);
  await other.query(`SELECT pg_advisory_unlock(${MIGRATION_LOCK})`);
  await eventually(() => log.includes('migration still running'), 30);
  await other.query('COMMIT');
  expect(await ended).toMatchObject({ code: 0, stdout: '' });
  await other.end();

  const lines = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const [first, second] = lines;
  expect(first).toMatchObject({ msg: 'waiting for another migrator', pid: expect.any(Number), application: 'somebody else' });
  expect(second).toMatchObject({ msg: 'migration still running', migration: expect.stringMatching(/^IndexItemNames\d{13}$/) });
  const applied = lines.filter(({ msg }) => msg === 'migration applied').map(({ migration }) => String(migration).slice(0, -13));
  expect(applied).toEqual([
    'CreateAccessTokens',
    'IndexItemNames',
    'IndexItemNameTrigrams',
    'CreateIdempotencyKeys',
    'AddTokenScopes',
    'AddTokenRotation',
  ]);
  await database.drop();
});
