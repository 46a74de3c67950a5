import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { eventually } from '../support/eventually.js';
import { RedisServer } from '../support/redis.js';
import { createTestDatabase, databaseUrlOf } from '../support/test-database.js';
import { Client } from 'pg';

// What the runbooks ask PostgreSQL and Redis.

const handbook = readFileSync('docs/operations.md', 'utf8');
const spans = Array.from(handbook.matchAll(/`((?:SELECT|redis-cli) [^`]+)`/g), ([, span = '']) => span);
const [, blockers = ''] = /```sql\n(.*?)```/s.exec(handbook) ?? [];

let url: string;

beforeAll(async () => {
  url = databaseUrlOf(await createTestDatabase());
});

/** @returns the first column of the rows */
const psql = (sql: string) =>
  execFileSync('psql', ['-qXAt', '-F,', '-v', 'ON_ERROR_STOP=1', url], {
    input: `${sql.replace(/;?\s*$/, ';')}\n`,
    encoding: 'utf8',
  })
    .split('\n')
    .map((line) => line.split(',')[0] ?? '')
    .filter(Boolean);

it.each(spans.filter((span) => span.startsWith('SELECT')))('PostgreSQL runs: %s', (sql) => {
  // No session of this server.
  expect(() => psql(sql.replaceAll(/pg_terminate_backend\((?:<pid>|\d+)\)/g, 'pg_terminate_backend(0)'))).not.toThrow();
});

it('the statement of the sample incident finds the session that blocks the service', async () => {
  expect(psql(blockers)).toEqual([]);
  const [blocker, service] = [new Client(url), new Client(`${url}?application_name=items`)];
  await Promise.all([blocker.connect(), service.connect()]);
  await blocker.query('CREATE TABLE locked ()');
  await blocker.query('BEGIN; LOCK TABLE locked IN ACCESS EXCLUSIVE MODE');
  const { rows } = await blocker.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const blocked = service.query('SELECT FROM locked');
  await eventually(() => psql(blockers).length > 0);
  expect(psql(blockers)).toEqual([`${rows[0]?.pid}`]);
  await blocker.query('ROLLBACK');
  await blocked;
  await Promise.all([blocker.end(), service.end()]);
});

it('Redis says what the runbooks ask', async () => {
  const redis = await RedisServer.start();
  const commands = spans.filter((span) => span.startsWith('redis-cli'));
  const outputs = commands.map((command) => {
    const { stdout, status } = spawnSync('sh', ['-uc', command], {
      env: { ...process.env, REDIS_URL: redis.url },
      encoding: 'utf8',
    });
    return [command, status, stdout];
  });
  await redis.kill();
  expect(outputs).toEqual([
    [expect.stringContaining(' info'), 0, expect.stringMatching(/used_memory:\d+[^]*role:master/)],
    [expect.stringContaining(' --latency'), 0, expect.stringMatching(/^\d+ \d+ [\d.]+ \d+$/m)],
    [expect.stringContaining(' slowlog get'), 0, expect.not.stringContaining('ERR')],
  ]);
});
